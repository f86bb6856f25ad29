#include "transfer/transfer.h"

#include <gtest/gtest.h>

#include "transfer/testing/pointwise.h"

namespace whet {
namespace {

using namespace testing_transfer;

const ComputeDag kDag = pointwise(28, 64, 96);

/// The base with as many entries of another machine.
RecordBase with_another_machine(const RecordBase& base, double gain) {
  std::vector<BaseOrigin> origins = base.origins();
  origins.push_back(origins.front());
  origins.back().target = "cpu -mcpu=skylake-avx512 -threads=8";
  std::vector<BaseTask> tasks = base.tasks();
  for (const BaseEntry& entry : base.tasks().front().entries)
    tasks.front().entries.push_back({1, entry.candidate, entry.extents, gain});
  return {"cpu-512", "2026.12", origins, tasks};
}
Transfer with(double gain, double analytic, double distance, bool own = true) {
  Transfer transfer;
  transfer.gain = gain, transfer.analytic = analytic, transfer.distance = distance, transfer.own = own;
  return transfer;
}

TEST(Transfers, AreCandidatesOfTheTasksOwnSpace) {
  const DesignSpace space = make_space(kDag, kTarget);
  std::vector<std::pair<Candidate, double>> entries;
  for (const Candidate& candidate : some(6)) entries.emplace_back(candidate, 1.5);
  const std::vector<Transfer> found = transfers(kDag, space, kTarget, base_of(entries));
  ASSERT_FALSE(found.empty());
  for (const Transfer& each : found) {
    EXPECT_TRUE(space.contains(each.candidate).ok());
    EXPECT_EQ(to_text(*space.steps(each.candidate)), each.steps);
    EXPECT_EQ(each.distance, 1);
    EXPECT_TRUE(each.own);
    EXPECT_NE(each.from.find("of resnet's conv 1x28x28x192 of 64x1x1"), std::string::npos) << each.from;
  }
}
TEST(Transfers, OfOneScheduleAreOneWithTheMeanGain) {
  const Candidate candidate = some(1).front();
  const std::vector<Transfer> found =
      transfers(kDag, make_space(kDag, kTarget), kTarget, base_of({{candidate, 4}, {candidate, 1}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found.front().gain, 2);
}
TEST(Transfers, LeaveTheDefaultScheduleOut) {
  const DesignSpace space = make_space(kDag, kTarget);
  const std::vector<Transfer> found = transfers(kDag, space, kTarget, base_of({{space.default_candidate(), 2}}));
  for (const Transfer& each : found) EXPECT_NE(each.steps, to_text(*space.steps(space.default_candidate())));
}
TEST(Transfers, OfAnotherMachineAreNoOwnOnes) {
  const std::vector<Transfer> found = transfers(kDag, make_space(kDag, kTarget), kTarget,
                                                base_of({{some(1).front(), 2}}, "cpu -mcpu=skylake-avx512 -threads=8"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found.front().own);
  EXPECT_EQ(without_measuring(found), nullptr);
}
TEST(Transfers, BelieveThisMachineWhereAnotherSaysSomethingElse) {
  const RecordBase base = with_another_machine(base_of({{some(1).front(), 2}}), 1);
  const std::vector<Transfer> found = transfers(kDag, make_space(kDag, kTarget), kTarget, base);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found.front().own);
  EXPECT_DOUBLE_EQ(found.front().gain, 2);
  EXPECT_EQ(found.front().distance, 1);
}
TEST(Transfers, AreNoneForATaskWithoutReduction) {
  const ComputeDag dag = parse_dag("x = PLACEHOLDER [8]\ny(i) = max(x[i], 0f) for i in 8\nreturn y\n").value();
  EXPECT_TRUE(transfers(dag, make_space(dag, kTarget), kTarget, base_of({{some(1).front(), 2}})).empty());
}

/// A base of chains like the pointwise convolution, each so much faster than its parts.
std::optional<double> gain_of_chains(const std::vector<double>& over_parts,
                                     const std::string& target = to_string(kTarget)) {
  const RecordBase one = base_of({{some(1).front(), 2}}, target);
  std::vector<BaseTask> tasks;
  for (const double each : over_parts) {
    tasks.push_back(one.tasks().front());
    tasks.back().over_parts = each;
    tasks.back().anchor.extents.front() = std::ssize(tasks);  // of the batch: the first is the nearest
  }
  return chain_gain(source(), kTarget, {"cpu-512", "2026.12", one.origins(), tasks});
}
TEST(ChainGain, IsTheMeanOfTheThreeNearest) {
  EXPECT_NEAR(gain_of_chains({1.25, 1.25, 1.25, 1}).value(), 1.25, 1e-9);
  const double mixed = gain_of_chains({1.5, 1.2, 1.1}).value();
  EXPECT_GT(mixed, 1.26) << "the nearest counts most";
  EXPECT_LT(mixed, 1.5);
}
TEST(ChainGain, IsUnknownWhereThreeDidNotGainEnough) {
  EXPECT_FALSE(gain_of_chains({1.1, 1.1, 1.1}));
  EXPECT_FALSE(gain_of_chains({1.5, 1.5}));
  EXPECT_FALSE(gain_of_chains({1.5, 1.5, 1.5}, "cpu -mcpu=skylake-avx512 -threads=8")) << "of another kind of machine";
  EXPECT_FALSE(gain_of_chains({0, 0, 0})) << "no chains";
}

TEST(WithoutMeasuring, TakesTheGreatestGainOfThoseThatMayBe) {
  const std::vector<Transfer> list = {with(9, 1, 1, false), with(3, 2, 1), with(2.5, 1, 9), with(1.5, 1.2, 7),
                                      with(1.4, 0.5, 1)};
  EXPECT_EQ(without_measuring(list), &list[3]);
}
TEST(WithoutMeasuring, KeepsTheDefaultScheduleWhereSourcesGainedLittle) {
  EXPECT_EQ(without_measuring(std::vector{with(1.1, 1, 1)}), nullptr);
  EXPECT_EQ(why_not_unmeasured(with(1.1, 1, 1)), "its sources gained 10% on average, 22% are asked for");
  EXPECT_EQ(why_not_unmeasured(with(2, 1.5, 1)), "its estimate is 1.50 times the default schedule's, 1.30 are allowed");
  EXPECT_EQ(why_not_unmeasured(with(2, 1, 9)), "its nearest source is 9.0 away, 8 are allowed");
}
TEST(WorthTiming, TakesTheGreatestGainAndTheLeastEstimateInTurns) {
  std::vector<double> gains;
  for (const Transfer& each : worth_timing({with(2, 0.9, 1), with(5, 1, 1), with(4, 0.8, 1), with(3, 0.5, 1)}, 4))
    gains.push_back(each.gain);
  EXPECT_EQ(gains, (std::vector<double>{5, 3, 4, 2}));
  EXPECT_EQ(worth_timing({with(2, 0.9, 1), with(5, 1, 1)}, 1).front().gain, 5);
}

}  // namespace
}  // namespace whet
