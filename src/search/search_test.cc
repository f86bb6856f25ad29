#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "search/budget.h"
#include "search/strategy.h"

namespace whet {
namespace {

Candidate point(std::int64_t x, std::int64_t y) { return {"tile", {{"x", {x}}, {"y", {y}}}}; }

/// A grid of n x n points, the middle one as default.
SearchSpace grid(std::int64_t n) {
  return {
      {point(n / 2, n / 2), point(0, 0)}, [n](Rng& rng) { return point(rng.below(n), rng.below(n)); }, double(n * n)};
}

/// A bowl with its lowest point, 1 ms, at (3, 5).
Outcome bowl(const Candidate& c) {
  const double x = static_cast<double>(c.choices.at("x")[0] - 3), y = static_cast<double>(c.choices.at("y")[0] - 5);
  Outcome outcome;
  outcome.code = OutcomeCode::ok;
  outcome.seconds = {1e-3 * (1 + x * x + y * y)};
  return outcome;
}

std::vector<Outcome> measure(const std::vector<Candidate>& candidates) {
  std::vector<Outcome> outcomes;
  for (const Candidate& candidate : candidates) outcomes.push_back(bowl(candidate));
  return outcomes;
}

std::unique_ptr<Strategy> random_over(SearchSpace space, std::uint64_t seed) {
  return std::move(*make_strategy("random", std::move(space), seed));
}

TEST(Random, ProposesTheDefaultAndTheSeedsFirst) {
  const auto proposals = random_over(grid(8), 1)->propose(4);
  ASSERT_EQ(proposals.size(), 4u);
  EXPECT_EQ(proposals[0], point(4, 4));
  EXPECT_EQ(proposals[1], point(0, 0));
}
TEST(Random, ProposesEveryPointOnceAndThenNone) {
  const auto strategy = random_over(grid(5), 2);
  std::set<Candidate> all;
  for (int round = 0; round < 10; ++round)
    for (const Candidate& candidate : strategy->propose(4)) EXPECT_TRUE(all.insert(candidate).second);
  EXPECT_EQ(all.size(), 25u);
  EXPECT_TRUE(strategy->propose(4).empty());
}
TEST(Random, NeverProposesWhatAnEarlierRunMeasured) {
  const auto strategy = random_over(grid(5), 3);
  std::vector<Candidate> earlier;
  for (std::int64_t x = 0; x < 5; ++x)
    for (std::int64_t y = 0; y < 4; ++y) earlier.push_back(point(x, y));
  strategy->observe(earlier, measure(earlier));
  const auto proposals = strategy->propose(25);
  EXPECT_EQ(proposals.size(), 5u);
  for (const Candidate& candidate : proposals) EXPECT_EQ(candidate.choices.at("y")[0], 4);
}
TEST(Random, IsReplayedByItsSeed) {
  EXPECT_EQ(random_over(grid(50), 4)->propose(20), random_over(grid(50), 4)->propose(20));
  EXPECT_NE(random_over(grid(50), 4)->propose(20), random_over(grid(50), 5)->propose(20));
}
TEST(Random, FindsTheLowestPointOfASmallBowl) {
  const auto strategy = random_over(grid(10), 6);
  double best = std::numeric_limits<double>::infinity();
  for (auto proposals = strategy->propose(16); !proposals.empty(); proposals = strategy->propose(16)) {
    const auto outcomes = measure(proposals);
    for (const Outcome& outcome : outcomes) best = std::min(best, outcome.best_seconds());
    strategy->observe(proposals, outcomes);
  }
  EXPECT_DOUBLE_EQ(best, 1e-3);
}
TEST(Random, OfASpaceWithoutDecisionsProposesTheDefaultAlone) {
  const auto strategy = random_over({{point(0, 0)}, nullptr, 0}, 1);
  EXPECT_EQ(strategy->propose(8).size(), 1u);
  EXPECT_TRUE(strategy->propose(8).empty());
}
TEST(MakeStrategy, NamesTheNearestStrategy) {
  EXPECT_EQ(make_strategy("randon", grid(2), 1).error().message,
            "strategy is \"randon\"; expected one of: random; did you mean \"random\"?");
}

/// Runs `rounds` rounds of 10 trials over tasks whose latency never changes; the trials each got.
std::vector<int> spend_rounds(Budget& budget, const std::vector<double>& seconds, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const auto task = budget.next();
    if (!task) break;
    budget.spend(*task, 10, seconds[static_cast<std::size_t>(*task)]);
  }
  std::vector<int> trials;
  for (std::size_t i = 0; i < seconds.size(); ++i) trials.push_back(budget.trials(static_cast<int>(i)));
  return trials;
}

TEST(Budget, GivesEveryTaskOneRoundFirst) {
  Budget budget({{1}, {100}, {1}});
  EXPECT_EQ(spend_rounds(budget, {1, 1, 1}, 3), (std::vector<int>{10, 10, 10}));
}
TEST(Budget, BeginsWithWhatSeemsToCostMost) {
  Budget budget({{1, 1e-3}, {4, 1e-3}, {1, 9e-3}});
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*budget.next());
    budget.spend(order.back(), 8, 1e-3);
  }
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}
TEST(Budget, SharesInProportionToWeightTimesLatency) {
  Budget budget({{1}, {2}, {4}});
  const auto trials = spend_rounds(budget, {1e-3, 1e-3, 2e-3}, 110);
  EXPECT_EQ(trials, (std::vector<int>{100, 200, 800}));
  EXPECT_DOUBLE_EQ(budget.network_seconds(), 11e-3);
}
TEST(Budget, GoesOnWithTheOthersWhenATaskIsClosed) {
  Budget budget({{1}, {1}});
  budget.close(0);
  EXPECT_EQ(spend_rounds(budget, {1, 1}, 4), (std::vector<int>{0, 40}));
  budget.close(1);
  EXPECT_FALSE(budget.next().has_value());
}
TEST(Budget, CountsATaskThatDoesNotRunYetAsAnAverageOne) {
  Budget budget({{1}, {1}});
  EXPECT_EQ(spend_rounds(budget, {1e-3, std::numeric_limits<double>::infinity()}, 20), (std::vector<int>{100, 100}));
}

}  // namespace
}  // namespace whet
