#include "records/ranged_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "records/digest.h"
#include "records/record_file.h"
#include "records/record_line.h"
#include "records/testing/sample.h"

namespace whet::ranged_line_test {
namespace {

using testing_records::timed;

const std::string kTarget = "cpu -mcpu=znver5 -threads=2";

RangedRecord ranged(const std::string& steps, std::int64_t at, double seconds, std::int64_t from = 64) {
  return {timed("[\"k\",1]", steps, seconds), "0123456789abcdef", "n=2..512", {at}, {from}};
}
NetworkAtSizes network() {
  return {4,       "1f00",
          "net",   "n=1..512",
          kTarget, {{{24}, 0.25, 4e-4, 3e-4, 2.9e-4, true}, {{512}, 0, 5e-3, 5e-3, 0, false, true}},
          "0.2.0", "2026-12-01T10:00:00Z"};
}
std::string why(const std::string& line) {
  const ParsedLine parsed = parse_line(line);
  const auto* bad = std::get_if<BadLine>(&parsed);
  return bad == nullptr ? "fine" : bad->why;
}
std::vector<std::string> golden_lines() {
  std::ifstream file(checkout_path("src/records/testdata/v4.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(RangedLine, GoesThereAndBack) {
  RangedRecord r = ranged("split l0 8 guard", 17, 1e-5);
  r.record.version = 4, r.at = {3, 17}, r.from = {8, 64};
  const RangedRecord back = std::get<RangedRecord>(parse_line(to_line(r)));
  EXPECT_EQ(to_line(back), to_line(r));
  EXPECT_EQ(back.at, r.at);
  EXPECT_EQ(back.from, r.from);
  EXPECT_EQ(back.record.outcome.seconds, r.record.outcome.seconds);
  EXPECT_EQ(std::get<NetworkAtSizes>(parse_line(to_line(network()))), network());
}

TEST(RangedLine, OfVersionFourIsReadAndWrittenTheSame) {
  const std::vector<std::string> lines = golden_lines();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(to_line(std::get<RangedRecord>(parse_line(lines[0]))), lines[0]);
  EXPECT_EQ(to_line(std::get<NetworkAtSizes>(parse_line(lines[1]))), lines[1]);
}

/// A measurement of version 1 may hold any other member; one of version 4 is none.
TEST(RangedLine, MembersOfItsVersionSayNothingInOlderLines) {
  std::ifstream file(checkout_path("src/records/testdata/v1.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line) && line.starts_with("{\"v\":1,"));
  const std::string rest = line.substr(6);
  EXPECT_TRUE(std::holds_alternative<Record>(parse_line("{\"v\":1,\"network\":\"bert\",\"error\":\"\"" + rest)));
  EXPECT_EQ(why("{\"v\":4" + rest), "a line of version 4 has none of \"range\", \"network\", \"error\" and \"plan\"");
}

/// Whatever its version and its other members are.
TEST(RangedLine, IsNeverTakenForATimeOfOneSize) {
  for (const std::string range : {R"({"task":"0123456789abcdef","at":[2],"from":[2]})", "{}", "3", "null", "[]"}) {
    std::string line = to_line(timed("k", "s", 1));
    line.insert(1, "\"range\":" + range + ",");
    EXPECT_FALSE(std::holds_alternative<Record>(parse_line(line))) << line;
  }
}

TEST(RangedLine, SaysWhatIsWrong) {
  const auto of = [](const std::string& range) {
    return why(R"({"v":4,"task":{"key":"k"},"target":"t","outcome":1,"range":)" + range + "}");
  };
  EXPECT_EQ(of("7"), "\"range\" is no object");
  EXPECT_EQ(of("{}"), "\"range\" has no \"task\" of 16 hexadecimal digits");
  EXPECT_EQ(of(R"({"task":"0123456789abcdef"})"), "\"at\" of \"range\" has what is no size");
  EXPECT_EQ(of(R"({"task":"0123456789abcdef","at":[0]})"), "\"at\" of \"range\" has what is no size");
  EXPECT_EQ(of(R"({"task":"0123456789abcdef","at":[1,2,3,4,5]})"), "\"at\" of \"range\" has what is no size");
  EXPECT_EQ(of(R"({"task":"0123456789abcdef","at":[1],"from":[]})"), "\"from\" of \"range\" has what is no size");
  EXPECT_EQ(of(R"({"task":"0123456789abcdef","at":[1],"from":[1,2]})"),
            "\"at\" and \"from\" of \"range\" are of different numbers of sizes");
  const auto points = [](const std::string& list) {
    return why(R"({"v":4,"target":"t","network":{"graph":"1","ranges":"n=1..2","points":)" + list + "}}");
  };
  EXPECT_EQ(points("[]"), "fine");
  EXPECT_EQ(points("3"), "\"points\" of a network at sizes is no list of 1024 at most");
  EXPECT_EQ(points("[{}]"), "\"at\" of a network at sizes has what is no size");
  EXPECT_EQ(points(R"([{"at":[1],"share":2}])"), "\"share\" of a network at sizes is no share");
  EXPECT_EQ(points(R"([{"at":[1],"ranged":1e-30}])"), "\"ranged\" of a network at sizes is no time");
  EXPECT_EQ(points(R"([{"at":[1]},{"at":[1,2]}])"),
            "\"at\" of a network at sizes has another number of sizes than the one before");
  EXPECT_EQ(why(R"({"v":4,"target":"t","network":{}})"), "\"graph\" of a network at sizes is no text");
}

/// Bytes changed at random never make an exact time of it, nor a line that reads back as another one.
TEST(RangedLine, WhereverItIsDamagedIsALineOrASentence) {
  const std::string whole = to_line(ranged("split l0 8 guard", 17, 1e-5));
  const std::size_t member = whole.find("\"range\"");
  Rng rng(5);
  for (int round = 0; round < 5000; ++round) {
    std::string line = whole;
    for (auto n = rng.between(1, 4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(rng.below(std::ssize(line)));
      if (at >= member && at < member + 7) continue;  // another member's name is another line
      line[at] = static_cast<char>(rng.below(128));
    }
    const ParsedLine parsed = parse_line(line);
    ASSERT_FALSE(std::holds_alternative<Record>(parsed)) << line;
    if (const auto* read = std::get_if<RangedRecord>(&parsed)) {
      const std::string printed = to_line(*read);
      ASSERT_EQ(to_line(std::get<RangedRecord>(parse_line(printed))), printed);
    }
  }
}

TEST(RangedRecords, LastFiguresCountAndNoneIsOfOneSize) {
  Records records;
  records.add(ranged("a", 17, 3e-5));
  records.add(ranged("b", 17, 2e-5));
  records.add(ranged("a", 17, 1e-5));
  records.add(ranged("a", 64, 4e-5));
  RangedRecord older = ranged("c", 17, 1e-6), other = ranged("d", 17, 1e-6);
  older.record.codegen -= 1, other.range = "fedcba9876543210";
  records.add(older), records.add(other);
  const Target target = *parse_target(kTarget);
  const auto found = records.ranged_of("0123456789abcdef", target);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]->record.steps, "b");
  EXPECT_DOUBLE_EQ(found[1]->record.outcome.best_seconds(), 1e-5);
  EXPECT_EQ(found[2]->at, (std::vector<std::int64_t>{64}));
  EXPECT_EQ(records.size(), 0u);
  EXPECT_FALSE(records.best("[\"k\",1]", {}, target).has_value());
}

TEST(RangedRecords, OfANetworkTheLastTimesCount) {
  Records records;
  NetworkAtSizes first = network(), second = network();
  second.points.clear();
  records.add(first), records.add(second);
  EXPECT_EQ(records.network_at_sizes("1f00", "n=1..512", kTarget), &records.networks()[1]);
  EXPECT_EQ(records.network_at_sizes("1f00", "n=1..256", kTarget), nullptr);
}

TEST(RangedRecords, AreDistilledToWhatIsFastestSomewhere) {
  Records records;
  const std::tuple<const char*, double, double> all[] = {{"a", 1, 9}, {"b", 2, 5}, {"c", 4, 7}, {"d", 1.5, 5.1}};
  for (const auto& [steps, small, large] : all) {
    records.add(ranged(steps, 16, small * 1e-5));
    records.add(ranged(steps, 64, large * 1e-5));
  }
  for (const std::int64_t at : {16, 64}) {
    RangedRecord wrong = ranged("e", at, 1e-6);
    wrong.record.outcome.code = OutcomeCode::wrong_answer, wrong.record.outcome.seconds.clear();
    records.add(std::move(wrong));
  }
  records.add(network()), records.add(network());
  std::string kept;
  for (const std::string& line : distill_ranged(records)) {
    const ParsedLine parsed = parse_line(line);
    const auto* each = std::get_if<RangedRecord>(&parsed);
    kept += each == nullptr ? "network" : each->record.steps + " ";
  }
  EXPECT_EQ(kept, "a a b b d d e network")
      << "c is never the fastest, d takes least over both, and that e is no kernel of the range stays known";
  EXPECT_EQ(merge_ranged({&records, &records}).size(), 11u) << "each line once";
}

TEST(RangedRecords, StayInAFileThatIsAppendedTo) {
  const std::string text = to_line(ranged("a", 16, 1e-5)) + "\n" + to_line(network()) + "\n";
  const Result<RecordsRead> read = parse_records(text, "r.jsonl");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->records.ranged().size(), 1u);
  EXPECT_EQ(read->records.networks().size(), 1u);
  EXPECT_EQ(read->records.size(), 0u);
  EXPECT_TRUE(read->notes.empty());
}

}  // namespace
}  // namespace whet::ranged_line_test
