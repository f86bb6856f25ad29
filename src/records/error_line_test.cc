#include "records/error_line.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>

#include "base/testing/checkout.h"
#include "records/digest.h"
#include "records/plan_line.h"
#include "records/record_file.h"
#include "records/record_line.h"

namespace whet::error_line_test {
namespace {

LayerError error() {
  return {"1f00",  "2e",
          "ab12",  "conv2d_3",
          true,    0.0021,
          0.0043,  "cpu -mcpu=znver4 -threads=2",
          "0.9.0", "2026-11-30T22:00:00Z"};
}

RangesOnSamples ranges() {
  return {"1f00",
          "2e",
          "ab12",
          {{"conv2d_2", {0, 6.25}}, {"x", {-2.125, 2.640625}}},
          "cpu -mcpu=znver4 -threads=2",
          "0.9.0",
          "2026-12-01T03:00:00Z"};
}

std::string why(const std::string& line) {
  const ParsedLine parsed = parse_line(line);
  const auto* bad = std::get_if<BadLine>(&parsed);
  return bad == nullptr ? "no reason" : bad->why;
}

Plan lowered_plan() {
  Plan plan{.version = 4, .graph = "1f00", .name = "net", .target = "cpu -mcpu=znver4 -threads=2"};
  plan.kernels = {{"conv2d_3", "bf16", false}, {"x", "nhwc -> bf16", true}};
  plan.precision = PlanPrecision{"ab12", "2e", {"1%", "scores:top1>=99%"}, 16, 16, 0.66, 0.81, 0.0066, 0.0081, 5e-5};
  return plan;
}

/// Stores activations as whole numbers.
Plan whole_plan() {
  Plan plan = lowered_plan();
  plan.version = 5;
  plan.kernels = {{"conv2d_3", "i16 -> u8", false}, {"x", "nhwc -> i16", true}};
  plan.precision->allowed = {"1%"}, plan.precision->ranges = ranges().values;
  return plan;
}

/// Every layer that can multiplies bytes; nobody gave a limit.
Plan uniform_plan() {
  Plan plan = whole_plan();
  plan.version = 6;
  plan.kernels = {{"conv2d_3", "u8", false}, {"x", "nhwc -> u8", true}};
  PlanPrecision& precision = *plan.precision;
  precision.allowed.clear(), precision.share = precision.held_out_share = precision.budget = 0;
  precision.uniform = "u8";
  return plan;
}

TEST(ErrorLine, IsReadAsItWasWritten) {
  for (const bool product : {true, false})
    for (const char* stored : {"bf16", "i16", "u8"}) {
      LayerError e = error();
      e.product = product, e.stored = stored, e.by = product ? "eight samples" : "";
      const ParsedLine parsed = parse_line(to_line(e));
      ASSERT_TRUE(std::holds_alternative<LayerError>(parsed));
      EXPECT_EQ(std::get<LayerError>(parsed), e);
      EXPECT_EQ(to_line(e).starts_with("{\"v\":4,"), e.stored == "bf16") << "older programs take it for one of bf16";
    }
}

TEST(RangesLine, IsReadAsItWasWritten) {
  RangesOnSamples written = ranges();
  written.rule = "reach-2";
  written.values["y"] = {-1.0 / 3, 1e-20f};  // to the last bit: scales follow from them
  const ParsedLine parsed = parse_line(to_line(written));
  ASSERT_TRUE(std::holds_alternative<RangesOnSamples>(parsed));
  EXPECT_EQ(std::get<RangesOnSamples>(parsed), written);
}

TEST(RangesLine, SaysWhatIsWrong) {
  const std::string head = R"({"v":5,"target":"cpu","values":{"graph":"a","weights":"b","samples":"c","ranges":)";
  EXPECT_EQ(why(R"({"v":5,"values":7,"target":"cpu"})"), "\"graph\" of ranges is no text");
  for (const char* ranges : {"{}", R"([{"value":"","least":0,"most":1}])", R"([{"value":"x","least":2,"most":1}])",
                             R"([{"value":"x","least":0}])", R"([{"value":"x","least":0,"most":1e999}])"})
    EXPECT_NE(why(head + ranges + "}}"), "no reason") << ranges;
  EXPECT_EQ(why(head + R"([{"value":"x","least":2,"most":1}]}})"),
            "\"ranges\" is no list of values with finite numbers, the least first");
}

TEST(RangesLine, IsFoundByNetworkWeightsSamplesAndTarget) {
  Records records;
  RangesOnSamples first = ranges(), last = ranges();
  first.values.clear();
  records.add(first), records.add(last);
  const RangesOnSamples* found = records.ranges_on_samples("1f00", "2e", "ab12", last.target);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, last) << "the last line counts";
  EXPECT_EQ(records.ranges_on_samples("1f00", "2e", "cd", last.target), nullptr);
}

TEST(ErrorLine, SaysWhatIsWrong) {
  EXPECT_EQ(why(R"({"v":4,"error":3,"target":"cpu"})"), "\"graph\" of an error is no text");
  EXPECT_EQ(why(R"({"v":4,"error":{"graph":"a","weights":"b","samples":"c","node":"d","of":"sum"},"target":"cpu"})"),
            "\"of\" of an error is neither product nor reads");
  EXPECT_EQ(
      why(R"({"v":4,"error":{"graph":"a","weights":"b","samples":"c","node":"d","of":"reads","l2":-1,"worst":0},"target":"cpu"})"),
      "\"l2\" or \"worst\" is no error");
}

TEST(LoweredPlan, IsReadAsItWasWritten) {
  for (const Plan& plan : {lowered_plan(), whole_plan(), uniform_plan()}) {
    const ParsedLine parsed = parse_line(to_line(plan));
    ASSERT_TRUE(std::holds_alternative<Plan>(parsed));
    EXPECT_EQ(std::get<Plan>(parsed), plan);
  }
}

TEST(LoweredPlan, IsNoPlanForWhoDidNotAskForOne) {
  Plan usual = lowered_plan();
  usual.version = 2, usual.precision.reset(), usual.kernels.clear();
  Records records;
  for (const Plan& plan : {usual, lowered_plan()}) records.add(plan);
  EXPECT_EQ(*records.plan_for("1f00", usual.target), usual);
  EXPECT_EQ(*records.lowered_plan_for("1f00", usual.target), lowered_plan());
  EXPECT_EQ(records.lowered_plan_for("2", usual.target), nullptr);
}

TEST(LoweredPlan, OfOneTypeIsApartFromTheOneThatWasChosenLayerByLayer) {
  Records records;
  for (const Plan& plan : {lowered_plan(), uniform_plan()}) records.add(plan);
  const std::string target = lowered_plan().target;
  EXPECT_EQ(*records.lowered_plan_for("1f00", target), lowered_plan());
  EXPECT_EQ(*records.lowered_plan_for("1f00", target, "u8"), uniform_plan());
  EXPECT_EQ(records.lowered_plan_for("1f00", target, "i16"), nullptr);
  EXPECT_EQ(*records.last_lowered_plan_for("1f00", target), uniform_plan());
  EXPECT_EQ(distill_plans(records).size(), 2u) << "each serves who asks for it";
}

TEST(LoweredPlan, StaysBesideErrorsInARecordFile) {
  const std::string path = ::testing::TempDir() + "/errors_" + std::to_string(getpid()) + ".jsonl";
  std::remove(path.c_str());
  {
    Result<RecordFile> file = RecordFile::open(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append_error(error()).ok());
    ASSERT_TRUE(file->append_plan(lowered_plan()).ok());
    EXPECT_EQ(file->records().errors().size(), 1u);
  }
  const Result<RecordsRead> read = read_records(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->records.errors(), std::vector<LayerError>{error()});
  EXPECT_EQ(read->records.plans().size(), 1u);
  EXPECT_EQ(read->error_lines.size(), 1u);
  EXPECT_TRUE(read->notes.empty());
  std::remove(path.c_str());
}

TEST(Version5, OfTheGoldenFileIsRead) {
  const Result<RecordsRead> read = read_records(checkout_path("src/records/testdata/v5.jsonl"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
  EXPECT_EQ(*read->records.ranges_on_samples("1f00", "2e", "ab12", ranges().target), ranges());
  ASSERT_EQ(read->records.errors().size(), 1u);
  EXPECT_EQ(read->records.errors().front().stored, "i16");
  ASSERT_EQ(read->records.plans().size(), 1u);
  EXPECT_EQ(read->records.plans().front(), whole_plan());
  EXPECT_EQ(read->error_lines.size(), 2u) << "merges keep them";
}

TEST(Version6, OfTheGoldenFileIsRead) {
  const Result<RecordsRead> read = read_records(checkout_path("src/records/testdata/v6.jsonl"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
  EXPECT_EQ(read->records.plans(), std::vector<Plan>{uniform_plan()});
}

TEST(Version4, OfTheGoldenFileIsRead) {
  const Result<RecordsRead> read = read_records(checkout_path("src/records/testdata/v4.jsonl"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
  EXPECT_EQ(read->records.errors(), std::vector<LayerError>{error()});
  ASSERT_EQ(read->records.plans().size(), 1u);
  EXPECT_EQ(read->records.plans().front(), lowered_plan());
}

}  // namespace
}  // namespace whet::error_line_test
