#include "workflow/base.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "alternatives/alternatives.h"
#include "import/zoo/zoo.h"
#include "records/record_line.h"
#include "space/space.h"
#include "task/task.h"
#include "workflow/model.h"

namespace whet::base_test {
namespace {

Target target(const std::string& text) { return parse_target(text).value(); }
const char* const kWide = "cpu -mcpu=znver4 -threads=2";

/// A file with a base of one origin and no task.
std::string file_of(const std::string& network, const std::string& version = "3") {
  const std::string path = ::testing::TempDir() + "/base_" + network + ".jsonl";
  std::ofstream(path)
      << R"({"v":)" << version << R"(,"base":{"name":"own","made":"2026.12","origins":[{"network":")" << network
      << R"(","target":"cpu -mcpu=znver4 -threads=2","machine":"Zen 4","codegen":8,"whet":"0.2.0","at":"2026-12-01"}]}})"
      << "\n";
  return path;
}
struct Chosen {
  std::shared_ptr<const RecordBase> base;
  std::string notes;
};
Chosen choose(const BaseOptions& options) {
  Chosen chosen;
  chosen.base = choose_base(options, target(kWide), [&](const std::string& note) { chosen.notes += note + "\n"; });
  return chosen;
}

TEST(ShippedBases, AreReadWithoutANote) {
  for (const char* text : {kWide, "cpu -mcpu=haswell"}) EXPECT_TRUE(shipped_base(target(text)).notes().empty()) << text;
}
TEST(ShippedBases, AreEmptyForTargetsThatHaveNone) {
  for (const char* text : {"cpu -mcpu=cortex-a72", "cpu -mcpu=x86-64", "cuda -arch=sm_90"})
    EXPECT_TRUE(shipped_base(target(text)).empty()) << text;
}

TEST(ShippedBases, ThatCannotBeReadAreEmptyWithANote) {
  const RecordBase later = carried_base(R"({"v":99,"base":{"name":"a","made":"b","origins":[]}})", "cpu-512");
  EXPECT_TRUE(later.empty());
  EXPECT_EQ(later.notes(), std::vector<std::string>{"cpu-512: is of base format 99; this whet reads " +
                                                    std::to_string(kRecordVersion) + "; default schedules are used"});
  EXPECT_TRUE(carried_base("", "cpu-512").notes().empty());
}

/// The decisions of each sketch.
using Names = std::map<std::string, std::set<std::string>>;
/// What the zoo has of a kind of tasks, also on other layouts and as chains.
struct Known {
  Names names;
  std::vector<std::pair<Anchor, DesignSpace>> spaces;  ///< of tasks that differ in more than their extents
};
/// By the kinds; under "" the names of all.
std::map<std::string, Known> known_today(const Target& target) {
  std::map<std::string, Known> known;
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const std::string& network : zoo_names()) {
    const FusedGraph fused = load_fused({.model = "zoo:" + network}).value();
    const Alternatives alternatives = find_alternatives(fused, target, {forms_for(target)}).value();
    for (const Task& task : alternatives.tasks) {
      const std::optional<Anchor> anchor = anchor_of(task.dag);
      if (!anchor || !seen.emplace(anchor->kind + std::to_string(anchor->stride), anchor->structure).second) continue;
      DesignSpace space = make_space(task.dag, target);
      for (const Sketch& sketch : space.sketches())
        for (const Decision& decision : sketch.decisions)
          for (const std::string& kind : {anchor->kind, std::string()})
            known[kind].names[sketch.name].insert(decision.name);
      known[anchor->kind].spaces.emplace_back(*anchor, std::move(space));
    }
  }
  return known;
}
bool are_there(const BaseEntry& entry, const Names& names) {
  const auto sketch = names.find(entry.candidate.sketch);
  return sketch != names.end() && std::ranges::all_of(entry.candidate.choices, [&](const auto& choice) {
           return sketch->second.contains(choice.first);
         });
}
/// The entry becomes a schedule of a task of its kind.
bool refits(const BaseEntry& entry, const Known& kind) {
  return std::ranges::any_of(kind.spaces, [&](const auto& task) {
    const DesignSpace& space = task.second;
    const std::optional<Candidate> candidate = space.refit(entry.candidate, entry.extents);
    return candidate && space.schedule(*candidate).ok();
  });
}
/// Of the entries of the base, those that serve nobody any more.
std::vector<std::string> lost_entries(const RecordBase& base, const std::map<std::string, Known>& known) {
  std::vector<std::string> lost;
  for (const BaseTask& task : base.tasks()) {
    const auto kind = known.find(task.anchor.kind);  // of networks beyond the zoo there are other kinds, too
    for (const BaseEntry& entry : task.entries)
      if (kind == known.end() ? !are_there(entry, known.at("").names)
                              : !are_there(entry, kind->second.names) || !refits(entry, kind->second))
        lost.push_back(to_json(entry.candidate) + " of " + task.anchor.kind);
  }
  return lost;
}

// A change of the spaces by which entries no longer fit makes the bases worthless: they are made again then (scripts/make_base).
TEST(ShippedBases, FitTheTasksOfToday) {
  for (const char* text : {kWide, "cpu -mcpu=haswell"}) {
    const RecordBase& base = shipped_base(target(text));
    if (base.empty()) continue;
    std::size_t all = 0;
    for (const BaseTask& task : base.tasks()) all += task.entries.size();
    const std::vector<std::string> lost = lost_entries(base, known_today(target(text)));
    EXPECT_LE(lost.size(), all / 50) << text << ": " << ::testing::PrintToString(lost);
  }
}
// The shipped ones may be empty: this is how the test above tells what is lost.
TEST(LostEntries, AreThoseThatNoTaskOfTheirKindCanTake) {
  const Task task = extract_tasks(load_fused({.model = "zoo:mlp"}).value(), target(kWide)).value().front();
  const Anchor anchor = anchor_of(task.dag).value();
  const DesignSpace space = make_space(task.dag, target(kWide));
  std::map<std::string, Known> known;
  for (const Sketch& sketch : space.sketches())
    for (const Decision& decision : sketch.decisions) known[anchor.kind].names[sketch.name].insert(decision.name);
  known[""].names = known[anchor.kind].names;
  const BaseEntry good{0, space.default_candidate(), {}, 1};
  BaseEntry renamed = good;
  renamed.candidate.sketch = "of old";
  const RecordBase base("own", "2026.12", {{"net", kWide, "X", 8, "", ""}}, {{anchor, 0, {good, renamed}}});
  EXPECT_EQ(lost_entries(base, known).size(), 2u) << "no task of the kind";
  known[anchor.kind].spaces.emplace_back(anchor, space);
  EXPECT_EQ(lost_entries(base, known), std::vector<std::string>{to_json(renamed.candidate) + " of " + anchor.kind});
}
// Whoever reads a base learns no more than which processor taught it.
TEST(ShippedBases, NameNoHostNoUserAndNoPath) {
  for (const char* text : {kWide, "cpu -mcpu=haswell"})
    for (const BaseOrigin& origin : shipped_base(target(text)).origins())
      for (const std::string& word : {origin.network, origin.target, origin.machine, origin.whet, origin.at})
        EXPECT_EQ(word.find_first_of("/\\"), word.npos) << word;
}
/// Each compile reads one. How much of a package they take is held where packages are made (packaging/release.py).
TEST(ShippedBases, AreReadInNoTime) {
  for (const char* text : {kWide, "cpu -mcpu=haswell"})
    EXPECT_LE(shipped_base(target(text)).text().size(), 6u << 20) << text;
}

TEST(ChosenBase, IsTheShippedOneWhereNothingIsSaid) {
  EXPECT_EQ(choose({}).base.get(), &shipped_base(target(kWide)));
  EXPECT_TRUE(choose({.none = true}).base->empty());
}
TEST(ChosenBase, IsNotBothOneAndNone) {
  EXPECT_TRUE(BaseOptions{.none = true}.check().ok());
  EXPECT_EQ((BaseOptions{.none = true, .files = {"a"}}.check().error().message),
            "--no-base leaves --base a without a meaning; give one of them");
}
TEST(ChosenBase, IsOfTheFilesThatAreNamed) {
  const Chosen chosen = choose({.files = {file_of("a"), file_of("b")}});
  EXPECT_EQ(chosen.base->name(), "own 2026.12 (2 networks)");
  EXPECT_EQ(chosen.notes, "");
  const std::size_t shipped = shipped_base(target(kWide)).origins().size();
  EXPECT_EQ(choose({.files = {file_of("a"), "shipped"}}).base->origins().size(), shipped + 1);
}
TEST(ChosenBase, IsWithoutWhatIsForOtherVectors) {
  std::string notes;
  const auto base = choose_base({.files = {file_of("a")}}, target("cpu -mcpu=haswell -threads=2"),
                                [&](const std::string& note) { notes += note; });
  EXPECT_TRUE(base->empty());
  EXPECT_EQ(notes, file_of("a") + ": has nothing for \"cpu -mcpu=haswell -threads=2\"; default schedules are used");
}
TEST(ChosenBase, IsWithoutWhatCannotBeRead) {
  const std::string next = std::to_string(kRecordVersion + 1), later = file_of("later", next);
  const Chosen chosen = choose({.files = {"/no/such/file", later, file_of("a")}});
  EXPECT_EQ(chosen.base->origins().size(), 1u);
  EXPECT_EQ(chosen.notes, "cannot read \"/no/such/file\": No such file or directory\n" + later +
                              ": is of base format " + next + "; this whet reads " + std::to_string(kRecordVersion) +
                              "; default schedules are used\n");
}

}  // namespace
}  // namespace whet::base_test
