#include "transfer/pack.h"

#include <gtest/gtest.h>

#include "artifact/kernel.h"
#include "space/space.h"

namespace whet::pack_test {
namespace {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");

Task product(std::int64_t rows) {
  const std::string m = std::to_string(rows);
  Task task;
  task.dag = parse_dag("a = PLACEHOLDER [" + m + ", 64]\nb = PLACEHOLDER [64, 96] const\n" +
                       "c(i, j) += (a[i, k]*b[k, j]) for i in " + m +
                       ", j in 96, k in 64  # matmul i:row j:out_channel k:in_channel\nreturn c\n")
                 .value();
  task.key = workload_key(task.dag);
  return task;
}
const Task kTask = product(128);
const DesignSpace kSpace = make_space(kTask.dag, kTarget);

/// Candidates with different schedules: the default one, then others of the same sketch.
std::vector<Candidate> some(std::size_t n, const DesignSpace& space = kSpace) {
  std::vector<Candidate> all = {space.default_candidate()};
  std::set<std::string> steps = {to_text(*space.steps(all.front()))};
  Rng rng(1);
  while (all.size() < n) {
    const Candidate next = space.sample(rng);
    const Result<Steps> made = space.steps(next);
    if (next.sketch == all.front().sketch && made.ok() && steps.insert(to_text(*made)).second) all.push_back(next);
  }
  return all;
}
std::vector<Candidate> kSome = some(8);

Record timed(const Candidate& candidate, double seconds) {
  Record record;
  record.key = kTask.key, record.target = to_string(kTarget), record.candidate = candidate;
  record.steps = to_text(*kSpace.steps(candidate));
  record.codegen = codegen_version(CodeFormat::native_object);
  record.outcome.code = OutcomeCode::ok, record.outcome.seconds = {seconds}, record.outcome.cache = "network";
  return record;
}
PackedTasks pack_runs(const std::vector<Records>& runs, const Alternatives& alternatives,
                      const std::map<int, double>& over_parts = {}) {
  std::vector<const Records*> all;
  for (const Records& run : runs) all.push_back(&run);
  return pack(alternatives, over_parts, all, kTarget);
}
Alternatives network(std::vector<Task> tasks) {
  Alternatives all;
  for (int i = 0; i < std::ssize(tasks); ++i) {
    Alternative usual;
    usual.group = usual.task = i;
    all.all.push_back(std::move(usual));
  }
  all.usual = tasks.size();
  all.tasks = std::move(tasks);
  return all;
}
PackedTasks pack_runs(std::vector<std::vector<Record>> runs) {
  std::vector<Records> all;
  for (std::vector<Record>& run : runs) all.emplace_back(std::move(run));
  return pack_runs(all, network({kTask}));
}
/// Gains of the only task, by the number of the candidate among `kSome`.
std::vector<std::pair<int, double>> gains(const PackedTasks& packed) {
  std::vector<std::pair<int, double>> gains;
  if (packed.tasks.size() != 1) return gains;
  for (const BaseEntry& entry : packed.tasks[0].entries)
    gains.emplace_back(std::ranges::find(kSome, entry.candidate) - kSome.begin(), entry.gain);
  return gains;
}
using Gains = std::vector<std::pair<int, double>>;

TEST(Pack, KeepsTheBestTwoOfASketchWithWhatTheyGained) {
  const PackedTasks packed =
      pack_runs({{timed(kSome[0], 4), timed(kSome[1], 2), timed(kSome[2], 2.5), timed(kSome[3], 2.1)}});
  EXPECT_EQ(gains(packed), (Gains{{1, 2}, {3, 1.905}}));
  EXPECT_EQ(packed.tasks[0].anchor, *anchor_of(kTask.dag));
  EXPECT_EQ(packed.tasks[0].entries[0].extents, kSpace.extents(kSome[1].sketch));
}
TEST(Pack, KeepsTheBestOfEachOtherSketchThatIsNotMuchSlower) {
  const std::vector<Candidate> seeds = kSpace.seeds();
  const auto other = std::ranges::find_if(seeds, [](const Candidate& c) { return c.sketch != kSome[0].sketch; });
  ASSERT_NE(other, seeds.end());
  const auto entries_with = [&](double seconds) {
    return pack_runs({{timed(kSome[0], 4), timed(kSome[1], 2), timed(kSome[2], 2.1), timed(kSome[3], 2.2),
                       timed(*other, seconds)}})
        .tasks.at(0)
        .entries;
  };
  const std::vector<BaseEntry> with = entries_with(2.5);
  ASSERT_EQ(with.size(), 3u);
  EXPECT_EQ(with[2].candidate, *other);
  EXPECT_EQ(with[2].gain, 1.6);
  EXPECT_EQ(entries_with(2.7).size(), 2u);
}
TEST(Pack, OfATaskWhoseDefaultIsBestIsOfGainOne) {
  EXPECT_EQ(gains(pack_runs({{timed(kSome[0], 2), timed(kSome[1], 3)}})), (Gains{{0, 1}}));
}
TEST(Pack, TakesTheMeanGainOfSeveralRuns) {
  const PackedTasks packed =
      pack_runs({{timed(kSome[0], 4), timed(kSome[1], 1)}, {timed(kSome[0], 8), timed(kSome[1], 8)}});
  EXPECT_EQ(gains(packed), (Gains{{1, 2}})) << "each run by its own default";
}
TEST(Pack, NeedsTheTimeOfTheDefault) {
  const PackedTasks packed = pack_runs({{timed(kSome[1], 1)}});
  EXPECT_TRUE(packed.tasks.empty());
  EXPECT_EQ(packed.without_default, 1);
}
TEST(Pack, LeavesOutWhatIsNoMeasurementOfThisTarget) {
  std::vector<Record> run = {timed(kSome[0], 4), timed(kSome[1], 2)};
  for (int i = 2; i < 7; ++i) run.push_back(timed(kSome[static_cast<std::size_t>(i)], 1));
  run[2].outcome.truncated = true;
  run[3].outcome.device = kEmulatedDevice;
  run[4].codegen = 1;
  run[5].target = "cpu -mcpu=skylake-avx512 -threads=4";
  run[6].outcome.conditions.throttled = true;
  EXPECT_EQ(gains(pack_runs({run})), (Gains{{1, 2}}));
}
TEST(Pack, TakesTimesInTheNetworkBeforeFasterOnesAlone) {
  std::vector<Record> run = {timed(kSome[0], 4), timed(kSome[1], 2), timed(kSome[2], 1)};
  run[2].outcome.cache = "warm";
  EXPECT_EQ(gains(pack_runs({run})), (Gains{{1, 2}}));
}
TEST(Pack, ComparesNoTimesOfTwoPlacements) {
  const auto placed = [](Record r, double round_trip_ns) { return r.outcome.placement = {round_trip_ns}, r; };
  EXPECT_EQ(gains(pack_runs(
                {{placed(timed(kSome[0], 4), 78), placed(timed(kSome[1], 2), 78), placed(timed(kSome[2], 1), 330)}})),
            (Gains{{1, 2}}));
}
TEST(Pack, LeavesOutSchedulesThatTheSpaceNoLongerHas) {
  std::vector<Record> run = {timed(kSome[0], 4), timed(kSome[1], 2), timed(kSome[2], 1), timed(kSome[3], 1.1)};
  run[2].steps += "; inline o0";
  run[3].candidate.sketch = "of old";
  const PackedTasks packed = pack_runs({run});
  EXPECT_EQ(gains(packed), Gains());
  EXPECT_EQ(packed.changed, 2);
}
TEST(Pack, TakesAChainOnlyWithWhatItGains) {
  Alternatives alternatives = network({product(32), kTask});
  Alternative chain;
  chain.kind = AlternativeKind::cover, chain.name = "chain: a+b", chain.task = 1;
  alternatives.all.push_back(chain);
  std::vector<Records> run(1);
  run[0].add(timed(kSome[0], 2));
  EXPECT_TRUE(pack_runs(run, alternatives).tasks.empty()) << "nothing tells what the chain gains";
  const PackedTasks packed = pack_runs(run, alternatives, {{1, 1.5}});
  ASSERT_EQ(packed.tasks.size(), 1u);
  EXPECT_EQ(packed.tasks[0].over_parts, 1.5);
}

}  // namespace
}  // namespace whet::pack_test
