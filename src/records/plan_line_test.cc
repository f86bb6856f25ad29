#include "records/plan_line.h"

#include <gtest/gtest.h>

#include "base/testing/checkout.h"
#include "records/digest.h"
#include "records/record_file.h"
#include "records/record_line.h"

namespace whet {
namespace plan_line_test {

/// The golden file of version 2 holds this line.
constexpr const char* kLine =
    R"({"v":2,"plan":{"graph":"1f00","name":"net","kernels":[{"computes":"conv1","forms":"nhwc -> nchw16c"},)"
    R"({"copies":"conv1","forms":"nchw16c -> nhwc"}],"seconds":0.001,"usual_seconds":0.0012,"bound_seconds":0.00095,)"
    R"("runner_up":[],"runner_up_seconds":0.0012,"network_seconds":0.0011,"usual_network_seconds":0.0013},)"
    R"("target":"cpu -mcpu=haswell -threads=2","whet":"0.1.0","at":"2026-11-26T00:00:00Z"})";

Plan plan(const std::string& line = kLine) { return std::get<Plan>(parse_line(line)); }

std::string why(const std::string& line) {
  const ParsedLine parsed = parse_line(line);
  const auto* bad = std::get_if<BadLine>(&parsed);
  return bad ? bad->why : "";
}

TEST(PlanLine, PrintsAsItWasRead) {
  EXPECT_EQ(to_line(plan()), kLine);
  EXPECT_EQ(plan().kernels.size(), 2u);
  EXPECT_TRUE(plan().kernels[1].transform);
  EXPECT_EQ(plan().usual_network_seconds, 0.0013);
}

TEST(PlanLine, HasWhatTheNetworkTakesLonger) {
  Plan longer = plan();
  longer.excess = {.seconds_a_byte = 2.5e-11, .seconds_a_kernel = 4e-6};
  EXPECT_NE(to_line(longer).find(R"("seconds_a_byte":2.5e-11,"seconds_a_kernel":4e-06)"), std::string::npos)
      << to_line(longer);
  EXPECT_EQ(plan(to_line(longer)), longer);
}

TEST(PlanLine, HasThePlansThatWereTried) {
  Plan tried = plan();
  tried.tried = {{.kernels = 3,
                  .network_seconds = 0.996e-3,
                  .usual_network_seconds = 1e-3,
                  .comparisons = 4,
                  .slower = 1,
                  .least_usual = 0.99e-3,
                  .most_usual = 1.1e-3},
                 {.kernels = 1,
                  .network_seconds = 0.9e-3,
                  .usual_network_seconds = 1e-3,
                  .adopted = true,
                  .weights_bytes = 160'300'000,
                  .usual_weights_bytes = 97'000'000}};
  EXPECT_EQ(plan(to_line(tried)), tried);
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","tried":3},"target":"cpu"})"), "\"tried\" of a plan is no list");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","tried":[{"kernels":-1}]},"target":"cpu"})"),
            "\"kernels\" of a plan is no count");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","tried":[{"weights_bytes":0.5}]},"target":"cpu"})"),
            "\"weights_bytes\" of a plan is no count");
}

TEST(PlanLine, OfTheGoldenFileIsRead) {
  const Result<RecordsRead> read = read_records(checkout_path("src/records/testdata/v2.jsonl"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->records.plans().size(), 1u);
  EXPECT_EQ(to_line(read->records.plans().front()), kLine);
}

TEST(PlanLine, SaysWhatIsWrong) {
  EXPECT_EQ(why(R"({"v":2,"plan":3,"target":"cpu"})"), "\"graph\" of a plan is no text");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a"}})"), "\"target\" of a plan is no text");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","kernels":{}},"target":"cpu"})"), "\"kernels\" of a plan is no list");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","kernels":[{"computes":"c"}]},"target":"cpu"})"),
            "\"forms\" of a plan is no text");
  EXPECT_EQ(why(R"({"v":2,"plan":{"graph":"a","seconds":-1},"target":"cpu"})"), "\"seconds\" of a plan is no time");
}

TEST(PlanLine, OfALaterVersionStaysUnread) {
  EXPECT_TRUE(std::holds_alternative<NewerRecord>(parse_line(R"({"v":7,"plan":{}})")));
}

TEST(Plans, OfANetworkTheLastCounts) {
  Plan first = plan(), second = plan(), other = plan();
  second.seconds = 0.0008, other.graph = "2";
  Records records;
  for (const Plan& each : {first, other, second}) records.add(each);
  EXPECT_EQ(*records.plan_for("1f00", first.target), second);
  EXPECT_EQ(records.plan_for("1f00", "cpu"), nullptr);
  EXPECT_EQ(distill_plans(records), (std::vector<Plan>{other, second}));
  EXPECT_EQ(merge_plans({&records, &records}), (std::vector<Plan>{first, other, second}));
  Plan older = first;
  older.at = "2026-01-01T00:00:00Z", older.seconds = 1;
  Records old;
  old.add(older);
  EXPECT_EQ(merge_plans({&records, &old}).front(), older) << "the order of the files decides nothing";
}

TEST(Plans, SurviveInTheFile) {
  const std::string path = ::testing::TempDir() + "/plans.jsonl";
  std::remove(path.c_str());
  {
    Result<RecordFile> file = RecordFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_TRUE(file->append_plan(plan()).ok());
    EXPECT_EQ(file->records().plans().size(), 1u);
  }
  const Result<RecordsRead> read = read_records(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
  ASSERT_EQ(read->records.plans().size(), 1u);
  EXPECT_EQ(to_line(read->records.plans().front()), kLine);
  ASSERT_TRUE(RecordRewrite::open(path)->replace({}, read->records.plans()).ok());
  EXPECT_EQ(read_records(path)->records.plans(), read->records.plans());
}

}  // namespace plan_line_test
}  // namespace whet
