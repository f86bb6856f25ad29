#include "records/record_line.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "records/testing/sample.h"

namespace whet {
namespace {

using testing_records::failed;
using testing_records::timed;

std::vector<std::string> golden_lines(const std::string& name) {
  std::ifstream file(checkout_path("src/records/testdata/") + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}
std::string complaint(const std::string& line) {
  auto parsed = parse_line(line);
  if (auto* bad = std::get_if<BadLine>(&parsed)) return bad->why;
  if (auto* newer = std::get_if<NewerRecord>(&parsed)) return "newer: " + std::to_string(newer->version);
  return "fine";
}

TEST(RecordLine, KeepsWhatTheSearchNotedOfATrial) {
  Record r = timed("k", "steps", 1e-3);
  r.round = 3;
  r.predicted = 0.75;
  r.ranks_as = 9e-4;
  r.outcome.pace = 1.25;
  r.outcome.registers = 128;
  r.outcome.spill_bytes = 24;
  r.outcome.placement = {330.5};
  r.outcome.conditions = {"0123456789abcdef", {0, 1, 4}, "schedutil", 1.8, 71.5, true};
  const Record back = std::get<Record>(parse_line(to_line(r)));
  EXPECT_EQ(back.round, 3);
  EXPECT_EQ(back.predicted, 0.75);
  EXPECT_EQ(back.ranks_as, 9e-4);
  EXPECT_EQ(back.outcome.pace, 1.25);
  EXPECT_EQ(back.outcome.registers, 128);
  EXPECT_EQ(back.outcome.spill_bytes, 24);
  EXPECT_EQ(back.outcome.placement, r.outcome.placement);
  EXPECT_EQ(back.outcome.conditions, r.outcome.conditions);
  EXPECT_DOUBLE_EQ(back.outcome.best_seconds(), 8e-4);
}
TEST(RecordLine, KeepsTheInputsThatATaskWasMeasuredWith) {
  Record r = timed("k", "steps", 1e-3);
  EXPECT_EQ(to_line(r).find("inputs"), std::string::npos) << "absent: made from the seed";
  r.inputs = "0123456789abcdef";
  EXPECT_EQ(std::get<Record>(parse_line(to_line(r))).inputs, r.inputs);
}
TEST(RecordLine, ReadsMembersInAnyOrderAndOfTwoTheFirst) {
  const std::string line = R"({"at":"2026-01-02T03:04:05Z","cache":"warm","seconds":[0.5],"more":{"v":9},"outcome":0,)"
                           R"("steps":"a","steps":"b","target":"t","task":{"name":"n","key":"k"},"v":1})";
  const Record read = std::get<Record>(parse_line(line));
  EXPECT_EQ(read.key, "k");
  EXPECT_EQ(read.task, "n");
  EXPECT_EQ(read.target, "t");
  EXPECT_EQ(read.steps, "a");
  EXPECT_EQ(read.at, "2026-01-02T03:04:05Z");
  EXPECT_EQ(read.outcome.cache, "warm");
  EXPECT_EQ(read.outcome.seconds, std::vector<double>{0.5});
}
TEST(RecordLine, SaysWhichWholeItIsAPartOf) {
  Record r = timed("k", "steps", 1e-3);
  EXPECT_EQ(to_line(r).find("within"), std::string::npos) << "absent: whole";
  r.within = {1, 55, 55, 128};
  EXPECT_NE(to_line(r).find("\"within\":[1,55,55,128]"), std::string::npos) << to_line(r);
  EXPECT_EQ(std::get<Record>(parse_line(to_line(r))).within, r.within);
  const auto task = [](const std::string& within) {
    return complaint(R"({"v":1,"task":{"key":"k","within":)" + within + R"(},"target":"t","outcome":1})");
  };
  EXPECT_EQ(task("[2,3]"), "fine");
  EXPECT_EQ(task("null"), "fine");
  EXPECT_EQ(task("6"), "\"within\" is no shape");
  EXPECT_EQ(task("[2,0]"), "\"within\" has an element that is no extent");
  EXPECT_EQ(task("[2,\"3\"]"), "\"within\" has an element that is no extent");
}
TEST(RecordLine, OfVersionOneIsStillReadAndWrittenTheSame) {
  const auto lines = golden_lines("v1.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  for (const std::string& line : lines) EXPECT_EQ(to_line(std::get<Record>(parse_line(line))), line);
  const Record r = std::get<Record>(parse_line(lines[0]));
  EXPECT_EQ(r.key, R"(["a3f1c09b",1,56,56,64,3,3])");
  EXPECT_EQ(to_json(r.candidate), R"({"sketch":"tile+acc+fuse","oc":[2,16],"ow":14,"rc":[8,8]})");
  EXPECT_EQ(r.outcome.best_seconds(), 0.000417);
  const Record refused = std::get<Record>(parse_line(lines[1]));
  EXPECT_EQ(refused.outcome.code, OutcomeCode::instantiation);
  EXPECT_EQ(refused.seed, 18446744073709551615ull);
  const Record ranked = std::get<Record>(parse_line(lines[2]));
  EXPECT_EQ(ranked.round, 3);
  EXPECT_EQ(ranked.predicted, 0.75);
  EXPECT_EQ(ranked.ranked_seconds(), 0.00041);
}
TEST(RecordLine, SaysInWhichPlacementItWasTaken) {
  EXPECT_EQ(to_line(timed("k", "steps", 1)).find("round_trip_ns"), std::string::npos) << "absent: not known";
  const auto lines = golden_lines("v1_placement.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_EQ(to_line(std::get<Record>(parse_line(line))), line);
  EXPECT_EQ(std::get<Record>(parse_line(lines[0])).outcome.placement, ProcessorPlacement{78.4});
  EXPECT_EQ(std::get<Record>(parse_line(lines[1])).outcome.placement, ProcessorPlacement{330.0});
}
TEST(RecordLine, CarriesEveryFieldThereAndBack) {
  Record r = timed("[\"k\",1]", "split(a,2)", 1e-4);
  r.outcome.truncated = true;
  r.outcome.message = "quotes \" and\nnew lines";
  const std::string line = to_line(r);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(to_line(std::get<Record>(parse_line(line))), line);
}
TEST(RecordLine, KeepsAKeyThatIsNoJsonAsText) {
  EXPECT_EQ(std::get<Record>(parse_line(to_line(timed("plain key", "", 1)))).key, "plain key");
}
TEST(RecordLine, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(complaint("[]"), "it is no JSON object");
  EXPECT_EQ(complaint("{}"), "\"v\" is no version number");
  EXPECT_EQ(complaint(R"({"v":7,"anything":[]})"), "newer: 7");
  EXPECT_EQ(complaint(R"({"v":1})"), "\"task\" has no \"key\"");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"}})"), "\"target\" is missing");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":13})"),
            "\"outcome\" is no number from 0 to 12");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0})"),
            "\"outcome\" is 0 but \"seconds\" is empty");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":[-1]})"),
            "\"seconds\" has -1 s, where a kernel takes 2e-09 s at least");
  for (const char* seconds : {"0", "1e-30", "1e9", "1e-3,0", "-0.0"})
    EXPECT_NE(
        complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":[)" + std::string(seconds) + "]}"),
        "")
        << seconds;
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":["1"]})"),
            "\"seconds\" has an element that is no number");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":[1],"pace":1e30})"),
            "\"seconds\" divided by \"pace\" is no time of a kernel");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":[1],"ranks_as":1e-30})"),
            "\"ranks_as\" is 1e-30 s, where a kernel takes 2e-09 s at least");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":9,"phases":{"build":-1}})"),
            "\"phases\" has what is no time");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":0,"seconds":[1],"pace":0})"),
            "\"pace\" is no positive number");
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","choices":{"oc":"x"},"outcome":7})"),
            "choice \"oc\" is neither a number nor a list of numbers");
}
TEST(RecordLine, RefusesMembersOfAnotherTypeOrOutOfRange) {
  const auto with = [](const std::string& member) {
    return complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","outcome":7,)" + member + "}");
  };
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":5,"outcome":7})"), "\"target\" is no text");
  EXPECT_EQ(with(R"("sketch":1)"), "\"sketch\" is no text");
  EXPECT_EQ(with(R"("steps":[])"), "\"steps\" is no text");
  EXPECT_EQ(with(R"("message":{})"), "\"message\" is no text");
  EXPECT_EQ(with(R"("host":1)"), "\"host\" is no text");
  EXPECT_EQ(with(R"("choices":[1])"), "\"choices\" is no object");
  EXPECT_EQ(with(R"("choices":{"oc":[1,2.5]})"), "choice \"oc\" has an element that is no integer");
  EXPECT_EQ(with(R"("codegen":-1)"), "\"codegen\" is out of range");
  EXPECT_EQ(with(R"("codegen":2147483648)"), "\"codegen\" is out of range");
  EXPECT_EQ(with(R"("round":-1)"), "\"round\" is out of range");
  EXPECT_EQ(with(R"("ranks_as":-0.001)"), "\"ranks_as\" is -0.001 s, where a kernel takes 2e-09 s at least");
  EXPECT_EQ(with(R"("registers":-1)"), "\"registers\" is out of range");
  EXPECT_EQ(with(R"("device":{"ghz":-1})"), "\"device.ghz\" is no clock");
  EXPECT_EQ(with(R"("device":{"cores":["a"]})"), "\"device.cores\" has an element that is no core");
  EXPECT_EQ(with(R"("registers":2147483648)"), "\"registers\" is out of range");
  EXPECT_EQ(with(R"("spill_bytes":-1)"), "\"spill_bytes\" is negative");
  for (const char* ns : {"-1", "1e10"})
    EXPECT_EQ(with(R"("round_trip_ns":)" + std::string(ns)), "\"round_trip_ns\" is no time of a cache line") << ns;
  EXPECT_EQ(with(R"("seed":-1)"), "\"seed\" is no number from 0 to 2^64-1");
  EXPECT_EQ(with(R"("seed":"18446744073709551616")"), "\"seed\" is no number from 0 to 2^64-1");
}
TEST(RecordLine, NamesAChoiceOnOneLine) {
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k"},"target":"cpu","choices":{"a\nb":"x"},"outcome":7})"),
            R"(choice "a\nb" is neither a number nor a list of numbers)");
}
TEST(RecordLine, IgnoresMembersThatItDoesNotKnow) {
  EXPECT_EQ(complaint(R"({"v":1,"task":{"key":"k","more":1},"target":"cpu","outcome":7,"colour":"red"})"), "fine");
}
TEST(RecordLine, SurvivesAnyDamage) {
  const std::vector<std::string> lines = {golden_lines("v1.jsonl")[0], golden_lines("v1_placement.jsonl")[1]};
  Rng rng(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text = lines[static_cast<std::size_t>(round % 2)];
    for (auto n = rng.between(1, 3); n > 0 && !text.empty(); --n) {
      const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size())));
      switch (rng.below(4)) {
        case 0:
          text[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(rng.between(1, 9)));
          break;
        case 2:
          text.insert(at, text.substr(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size()))), 7));
          break;
        default:
          text.resize(at);
      }
    }
    auto parsed = parse_line(text);
    if (auto* record = std::get_if<Record>(&parsed)) (void)to_line(*record);
  }
}
TEST(CanonicalKey, LeavesOutWhiteSpaceButNotInsideQuotes) {
  EXPECT_EQ(canonical_key("[\"a b\\\" c\", 1,\n 2]"), "[\"a b\\\" c\",1,2]");
}
TEST(UtcNow, IsTheFormThatRecordsUse) { EXPECT_EQ(utc_now().size(), std::string("2026-11-21T10:00:00Z").size()); }

}  // namespace
}  // namespace whet
