#include "records/base_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "records/record_file.h"
#include "records/record_line.h"

namespace whet {
namespace base_line_test {

const std::string kHead =
    R"({"v":3,"base":{"name":"cpu-512","made":"2026.12","origins":[{"network":"net","target":"cpu -mcpu=znver4 -threads=2",)"
    R"("machine":"Zen 4","codegen":8,"whet":"0.2.0","at":"2026-12-01"}]}})";
const std::string kTask = R"({"v":3,"anchor":"conv","x":[1,56],"structure":"00000000000000ff","as":[)"
                          R"({"of":0,"sketch":"tile","choices":{"oc":[2,16,64],"order":[1,0]},"gain":1.5}]})";

std::string golden() {
  std::stringstream text;
  text << std::ifstream(checkout_path("src/records/testdata/v3.jsonl")).rdbuf();
  return text.str();
}
RecordBase parse(const std::string& text) {
  Result<RecordBase> base = RecordBase::parse(text, "a.jsonl");
  EXPECT_TRUE(base.ok()) << base.error().message;
  return base.ok() ? std::move(*base) : RecordBase();
}
std::string error_of(const std::string& text) {
  const Result<RecordBase> base = RecordBase::parse(text, "a.jsonl");
  return base.ok() ? "" : base.error().message;
}
std::string notes_of(const std::string& text) {
  std::string notes;
  const RecordBase base = parse(text);
  for (const std::string& note : base.notes()) notes += (notes.empty() ? "" : "\n") + note;
  return notes;
}
/// The note for a task in which `was` is `becomes`.
std::string note_with(const std::string& was, const std::string& becomes) {
  std::string line = kTask;
  line.replace(line.find(was), was.size(), becomes);
  return notes_of(kHead + "\n" + line + "\n");
}

TEST(BaseLines, OfTheGoldenFilePrintAsTheyWereRead) {
  const RecordBase base = parse(golden());
  EXPECT_TRUE(base.notes().empty());
  EXPECT_EQ(base.text(), golden());
  EXPECT_EQ(base.name(), "cpu-512 2026.12 (1 network)");  // resnet18 in two batches
  ASSERT_EQ(base.tasks().size(), 2u);
  const BaseEntry& best = base.tasks()[0].entries[0];
  EXPECT_EQ(best.candidate.choices.at("oc"), (std::vector<std::int64_t>{2, 16}));
  EXPECT_EQ(best.extents, (std::map<std::string, std::int64_t>{{"ic", 64}, {"oc", 64}}));
  EXPECT_EQ(base.tasks()[1].over_parts, 1.4);
}

RecordBase random_base(Rng& rng) {
  const auto below = [&](std::size_t n) { return rng.below(static_cast<std::int64_t>(n)); };
  std::vector<BaseOrigin> origins;
  for (std::int64_t i = 0, count = 1 + below(3); i < count; ++i)
    origins.push_back(
        {"net \"" + std::to_string(below(3)) + "\"", "cpu -mcpu=znver4", "Zen", 8, "0", "2026-12-01", below(2) == 1});
  std::vector<BaseTask> tasks;
  for (std::int64_t i = 0, count = below(6); i < count; ++i) {
    BaseTask task;
    task.anchor = {"conv " + std::to_string(below(2)), {1 + below(3), 64}, 1 + below(2), below(2) == 1, rng.next()};
    task.over_parts = below(2) == 1 ? 1.0 / 3 : 0;
    for (std::int64_t k = 0, entries = 1 + below(4); k < entries; ++k) {
      BaseEntry entry;
      entry.origin = static_cast<std::size_t>(below(origins.size()));
      entry.candidate.sketch = "tile";
      for (std::int64_t d = 0, decisions = below(4); d < decisions; ++d) {
        const std::string name = "d" + std::to_string(d);
        entry.candidate.choices[name].assign(static_cast<std::size_t>(below(3)), below(100));
        if (below(2) == 1) entry.extents[name] = 1 + below(1000);
      }
      entry.gain = 1 + static_cast<double>(below(1000)) / 7;
      task.entries.push_back(std::move(entry));
    }
    tasks.push_back(std::move(task));
  }
  return {"cpu", "2026.12", std::move(origins), std::move(tasks)};
}
void expect_equal(const RecordBase& a, const RecordBase& b) {
  EXPECT_EQ(a.origins(), b.origins());
  EXPECT_EQ(a.tasks(), b.tasks());
  EXPECT_EQ(a.name(), b.name());
}

TEST(BaseLines, OfAnyBaseGiveAnEqualBase) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const RecordBase base = random_base(rng);
    expect_equal(parse(base.text()), base);
  }
}

TEST(BaseLines, OneWrongLineCostsThatLine) {
  const std::string second = R"({"v":3,"anchor":"pool","x":[2],"structure":"0000000000000001","as":[)"
                             R"({"of":0,"sketch":"tile","choices":{},"gain":1}]})";
  std::string nameless = kTask;
  nameless.replace(nameless.find("\"sketch\":\"tile\","), 16, "");
  const RecordBase base = parse(kHead + "\n" + nameless + "\n" + second + "\n");
  EXPECT_EQ(base.notes(), std::vector<std::string>{"a.jsonl: line 2 names no sketch; skipped"});
  ASSERT_EQ(base.tasks().size(), 1u);
  EXPECT_EQ(base.tasks()[0].anchor.kind, "pool");
  EXPECT_EQ(notes_of(kHead + "\n{\n{\n{\n{\n{\n"),
            "a.jsonl: line 2 is no JSON object; skipped\na.jsonl: line 3 is no JSON object; skipped\n"
            "a.jsonl: line 4 is no JSON object; skipped\na.jsonl: 2 more lines skipped");
}

TEST(BaseLines, SayWhatIsWrong) {
  EXPECT_EQ(note_with("56", "0"), "a.jsonl: line 2 has a \"x\" that is no number from 1 to 1099511627776; skipped");
  EXPECT_EQ(note_with("[1,56]", "3"), "a.jsonl: line 2 has a \"x\" that is no list of numbers; skipped");
  EXPECT_EQ(note_with("00ff", "00"), "a.jsonl: line 2 has a \"structure\" that is not 16 hexadecimal digits; skipped");
  EXPECT_EQ(note_with("\"of\":0", "\"of\":1"), "a.jsonl: line 2 names an origin that the base does not have; skipped");
  EXPECT_EQ(note_with("1.5", "1e300"), "a.jsonl: line 2 has a \"gain\" that is no ratio of times; skipped");
  EXPECT_EQ(note_with("1.5", "0"), "a.jsonl: line 2 has a \"gain\" that is no ratio of times; skipped");
  EXPECT_EQ(note_with("[2,16,64]", "[]"),
            "a.jsonl: line 2 has a choice \"oc\" that does not say what was cut; skipped");
  EXPECT_EQ(note_with("[2,16,64]", "[-2,64]"),
            "a.jsonl: line 2 has a \"oc\" that is no number from 0 to 1099511627776; skipped");
  EXPECT_EQ(note_with("\"tile\"", "\"ti\xc2\x9ble\""), "a.jsonl: line 2 names no sketch; skipped")
      << "a terminal obeys it";
  EXPECT_EQ(note_with("{\"v\":3", "{\"v\":7"), "a.jsonl: line 2 is of another version; skipped");
}

// Whatever version records come to have, those that are shipped and those that people have stay readable.
TEST(BaseLines, AreReadFromTheFirstVersionOfBasesOn) {
  const std::string text = kHead + "\n" + kTask + "\n";
  EXPECT_EQ(kBaseVersion, 3);
  EXPECT_EQ(parse(text).text(), text);
  EXPECT_EQ(note_with("{\"v\":3", "{\"v\":2"), "a.jsonl: line 2 is of another version; skipped");
}

TEST(BaseLines, OfALaterFormatAreNoBaseOfThisWhet) {
  std::string later = kHead;
  later.replace(later.find("\"v\":3"), 5, "\"v\":7");
  EXPECT_EQ(error_of(later), "a.jsonl: is of base format 7; this whet reads 6; default schedules are used");
  EXPECT_EQ(error_of(""), "a.jsonl: holds no record base");
  EXPECT_EQ(error_of(R"({"v":3,"base":{"name":"a","made":"b"}})"),
            "a.jsonl: line 1, the head of a base, has no list of origins");
}

TEST(BaseLines, NameNothingThatMovesATerminalsCursor) {
  for (const std::string control : {"\xc2\x9b", "\\u001b", "\x7f"}) {
    std::string evil = kHead;
    evil.replace(evil.find("\"net\""), 5, "\"ne" + control + "t\"");
    EXPECT_EQ(error_of(evil), "a.jsonl: line 1, the head of a base, names no network");
  }
}

TEST(BaseLines, MayHaveAByteOrderMarkAndOtherLineEnds) {
  const RecordBase base = parse("\xef\xbb\xbf" + kHead + "\r\n" + kTask + "\r\n\r\n");
  EXPECT_TRUE(base.notes().empty());
  EXPECT_EQ(base.text(), kHead + "\n" + kTask + "\n");
}

TEST(BaseLines, StayInARecordFileAndAreNoBadLines) {
  const Result<RecordsRead> read = parse_records("\xef\xbb\xbf" + golden(), "v3.jsonl");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->base_lines.size(), 3u);
  EXPECT_TRUE(read->notes.empty());
  EXPECT_EQ(read->bad_lines, 0);
  EXPECT_TRUE(std::holds_alternative<NewerRecord>(parse_line(R"({"v":7,"base":{}})")));
}

TEST(BaseLines, WhereverTheyAreDamagedCostNoMoreThanTheBase) {
  const std::string whole = golden();
  for (std::size_t at = 0; at < whole.size(); at += 2)
    for (const char other : {'"', '9', '}', '\n'}) {
      std::string damaged = whole;
      damaged[at] = other;
      const Result<RecordBase> base = RecordBase::parse(damaged, "a");
      if (!base.ok()) continue;
      expect_equal(parse(base->text()), *base);
    }
}

TEST(Bases, OneBehindTheOtherAreOne) {
  const RecordBase one = parse(kHead + "\n" + kTask + "\n"), golden_base = parse(golden());
  expect_equal(parse(one.text() + golden_base.text()), RecordBase::joined({&one, &golden_base}));
  expect_equal(RecordBase::joined({&one, &one}), one);
}

TEST(Bases, GiveBackWhatANetworkDidNotTeach) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const RecordBase a = random_base(rng);
    BaseTask task = parse(kHead + "\n" + kTask + "\n").tasks()[0];
    if (!a.tasks().empty()) task.anchor = a.tasks()[0].anchor;
    const RecordBase b(
        "b", "2026.12",
        {{"other batch 8", "cpu", "Zen", 8, "0", "2026-12-01"}, {"other", "cpu", "Zen", 8, "0", "2026-12-01"}}, {task});
    expect_equal(RecordBase::joined({&a, &b}).without("other"), a);
    EXPECT_EQ(b.name(), "b 2026.12 (1 network)") << "in two batches";
    EXPECT_TRUE(b.without("other").empty());
    EXPECT_EQ(b.without("othe").tasks(), b.tasks());
  }
}

}  // namespace base_line_test
}  // namespace whet
