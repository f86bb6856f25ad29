#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "search/annealing.h"
#include "search/budget.h"
#include "search/evolutionary.h"
#include "search/genetic.h"
#include "search/strategy.h"

namespace whet {
namespace {

Candidate point(std::int64_t x, std::int64_t y) { return {"tile", {{"x", {x}}, {"y", {y}}}}; }
double distance(const Candidate& c, std::int64_t x, std::int64_t y) {
  const auto dx = static_cast<double>(c.choices.at("x")[0] - x), dy = static_cast<double>(c.choices.at("y")[0] - y);
  return std::sqrt(dx * dx + dy * dy);
}

/// A landscape over n x n points: seconds of a candidate; infinity: it fails.
using Landscape = std::function<double(const Candidate&)>;
/// A bowl with its lowest point, 1 ms, at (3, 5).
double bowl(const Candidate& c) { return 1e-3 * (1 + std::pow(distance(c, 3, 5), 2)); }
/// Waves on the bowl's sides: every few steps another local minimum.
double waves(const Candidate& c) {
  const double d = distance(c, 23, 7);
  return 1e-3 * (1 + 0.05 * d + 0.5 * std::pow(std::sin(d), 2));
}
/// Most points fail.
double archipelago(const Candidate& c) {
  const std::int64_t x = c.choices.at("x")[0], y = c.choices.at("y")[0];
  return (x * 7 + y * 3) % 11 < 8 ? std::numeric_limits<double>::infinity() : bowl(c);
}

std::vector<Candidate> beside(const Candidate& c, std::int64_t n) {
  std::vector<Candidate> list;
  for (const char* axis : {"x", "y"})
    for (std::int64_t value = 0; value < n; ++value) {
      Candidate other = c;
      other.choices[axis] = {value};
      if (!(other == c)) list.push_back(other);
    }
  return list;
}

/// A grid of n x n points, the middle one as default, and all that a strategy may ask of it but a model.
SearchSpace grid(std::int64_t n) {
  SearchSpace space;
  space.first = {point(n / 2, n / 2), point(0, 0)};
  space.sample = [n](Rng& rng) { return point(rng.below(n), rng.below(n)); };
  space.mutate = [n](const Candidate& c, Rng& rng) -> std::optional<Candidate> {
    if (n < 2) return std::nullopt;
    Candidate other = c;
    std::int64_t& value = other.choices[rng.chance(0.5) ? "x" : "y"][0];
    value = (value + rng.between(1, n - 1)) % n;
    return other;
  };
  space.crossover = [](const Candidate& a, const Candidate& b, Rng& rng) -> std::optional<Candidate> {
    Candidate child = a;
    if (rng.chance(0.5)) child.choices["x"] = b.choices.at("x");
    return child;
  };
  space.neighbours = [n](const Candidate& c) { return beside(c, n); };
  space.shift = [n](const Candidate& c, const std::map<std::string, int>& moves) -> std::optional<Candidate> {
    Candidate other = c;
    if (c.sketch != "tile") return std::nullopt;
    for (const auto& [axis, options] : moves) other.choices[axis][0] += options;
    const auto inside = [n](const auto& choice) { return choice.second[0] >= 0 && choice.second[0] < n; };
    return std::ranges::all_of(other.choices, inside) ? std::optional(other) : std::nullopt;
  };
  space.at = [n](std::int64_t k) -> std::optional<Candidate> { return point(k / n, k % n); };
  space.grid_size = n * n;
  space.count = static_cast<double>(n * n);
  return space;
}

/// The same with a model that is right up to `noise` (a share of the figure, by the candidate's hash).
SearchSpace with_model(SearchSpace space, const Landscape& landscape, double noise) {
  space.rank = [landscape, noise](const std::vector<Candidate>& candidates) {
    std::vector<double> scores;
    for (const Candidate& c : candidates) {
      const double wobble = static_cast<double>(hash(c) % 1000) / 1000 - 0.5;
      scores.push_back(1e-3 / landscape(c) * (1 + noise * wobble));
    }
    return scores;
  };
  return space;
}

std::vector<Outcome> measure(const std::vector<Candidate>& candidates, const Landscape& landscape = bowl) {
  std::vector<Outcome> outcomes;
  for (const Candidate& candidate : candidates) {
    Outcome outcome;
    const double seconds = landscape(candidate);
    outcome.code = std::isfinite(seconds) ? OutcomeCode::ok : OutcomeCode::crash;
    if (outcome.ok()) outcome.seconds = {seconds};
    outcomes.push_back(outcome);
  }
  return outcomes;
}

std::unique_ptr<Strategy> make(const std::string& name, SearchSpace space, std::uint64_t seed) {
  return std::move(*make_strategy(name, std::move(space), seed));
}

/// The best of `trials` trials, 16 a round.
double best_of(Strategy& strategy, const Landscape& landscape, int trials) {
  double best = std::numeric_limits<double>::infinity();
  for (int spent = 0; spent < trials;) {
    const auto proposals = strategy.propose(std::min(16, trials - spent));
    if (proposals.empty()) break;
    const auto outcomes = measure(proposals, landscape);
    for (const Outcome& outcome : outcomes) best = std::min(best, outcome.best_seconds());
    strategy.observe(proposals, outcomes);
    spent += static_cast<int>(proposals.size());
  }
  return best;
}
double mean_best(const std::string& name, const SearchSpace& space, const Landscape& landscape, int trials) {
  double sum = 0;
  constexpr int kRuns = 3;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) sum += best_of(*make(name, space, seed), landscape, trials);
  return sum / kRuns;
}

class EveryStrategy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, EveryStrategy, testing::ValuesIn(known_strategies()),
                         [](const auto& info) { return info.param; });

/// Those that go through a small space completely: all but descent.
std::vector<std::string> complete_strategies() {
  std::vector<std::string> names = known_strategies();
  std::erase(names, "descent");
  return names;
}
class CompleteStrategy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, CompleteStrategy, testing::ValuesIn(complete_strategies()),
                         [](const auto& info) { return info.param; });

TEST_P(CompleteStrategy, ProposesTheDefaultAndTheSeedsFirst) {
  const auto proposals = make(GetParam(), grid(8), 1)->propose(4);
  ASSERT_EQ(proposals.size(), 4u);
  EXPECT_EQ(proposals[0], point(4, 4));
  EXPECT_EQ(proposals[1], point(0, 0));
}
TEST_P(CompleteStrategy, ProposesEveryPointOnceAndThenNone) {
  for (const SearchSpace& space : {grid(5), with_model(grid(5), bowl, 0.5)}) {
    const auto strategy = make(GetParam(), space, 2);
    std::set<Candidate> all;
    for (int round = 0; round < 10; ++round) {
      const auto proposals = strategy->propose(4);
      for (const Candidate& candidate : proposals) EXPECT_TRUE(all.insert(candidate).second);
      strategy->observe(proposals, measure(proposals));
    }
    EXPECT_EQ(all.size(), 25u);
    EXPECT_TRUE(strategy->propose(4).empty());
  }
}
TEST_P(CompleteStrategy, NeverProposesWhatAnEarlierRunMeasured) {
  const auto strategy = make(GetParam(), with_model(grid(5), bowl, 0.1), 3);
  std::vector<Candidate> earlier;
  for (std::int64_t x = 0; x < 5; ++x)
    for (std::int64_t y = 0; y < 4; ++y) earlier.push_back(point(x, y));
  strategy->observe(earlier, measure(earlier));
  const auto proposals = strategy->propose(25);
  EXPECT_EQ(proposals.size(), 5u);
  for (const Candidate& candidate : proposals) EXPECT_EQ(candidate.choices.at("y")[0], 4);
}
TEST_P(EveryStrategy, IsReplayedByItsSeedAndObservations) {
  const auto run = [&](std::uint64_t seed) {
    const auto strategy = make(GetParam(), with_model(grid(50), waves, 0.3), seed);
    std::vector<Candidate> all;
    for (int round = 0; round < 4; ++round) {
      const auto proposals = strategy->propose(20);
      strategy->observe(proposals, measure(proposals, waves));
      all.insert(all.end(), proposals.begin(), proposals.end());
    }
    return all;
  };
  EXPECT_EQ(run(4), run(4));
  if (GetParam() != "grid") {
    EXPECT_NE(run(4), run(5));
  }
}
TEST_P(EveryStrategy, FindsTheLowestPointWhenItMayTryAll) {
  EXPECT_DOUBLE_EQ(best_of(*make(GetParam(), grid(10), 6), bowl, 100), 1e-3);
}
TEST_P(CompleteStrategy, LivesWithFailuresEverywhere) {
  const auto nothing = [](const Candidate&) { return std::numeric_limits<double>::infinity(); };
  const SearchSpace space = with_model(grid(12), [](const Candidate&) { return 1e-3; }, 0.5);
  EXPECT_TRUE(std::isinf(best_of(*make(GetParam(), space, 7), nothing, 144)));
  EXPECT_DOUBLE_EQ(best_of(*make(GetParam(), with_model(grid(12), archipelago, 0), 7), archipelago, 144), 1e-3 * 2);
}
TEST_P(EveryStrategy, OfASpaceWithoutDecisionsProposesTheDefaultAlone) {
  SearchSpace space;
  space.first = {point(0, 0)};
  const auto strategy = make(GetParam(), space, 1);
  EXPECT_EQ(strategy->propose(8).size(), 1u);
  EXPECT_TRUE(strategy->propose(8).empty());
}

class LearningStrategy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, LearningStrategy, testing::Values("evolutionary", "xgb"),
                         [](const auto& info) { return info.param; });

TEST_P(LearningStrategy, FindsWithAGoodModelWhatRandomFindsWithManyTimesTheTrials) {
  SearchSpace space = with_model(grid(100), waves, 0.2);
  space.first.clear();
  EXPECT_LE(mean_best(GetParam(), space, waves, 64), mean_best("random", space, waves, 512));
}
TEST_P(LearningStrategy, IsNotMuchWorseThanRandomWithAModelThatKnowsNothing) {
  SearchSpace space = with_model(grid(40), [](const Candidate&) { return 1e-3; }, 1);
  space.first.clear();
  EXPECT_LE(mean_best(GetParam(), space, waves, 64), 1.25 * mean_best("random", space, waves, 64));
}
TEST(Evolutionary, GoesAroundTheBestWhenRoundsBringNothing) {
  // The model likes the wrong corner.
  SearchSpace space = with_model(grid(60), [](const Candidate& c) { return 1e-3 * (1 + distance(c, 59, 59)); }, 0);
  space.first.clear();
  const auto strategy = make("evolutionary", space, 1);
  const auto near_best = [](const std::vector<Candidate>& list) {
    return std::count_if(list.begin(), list.end(),
                         [](const Candidate& c) { return c.choices.at("x")[0] == 3 || c.choices.at("y")[0] == 5; });
  };
  strategy->observe({point(3, 5)}, measure({point(3, 5)}));
  for (int round = 0; round < 2; ++round) {
    const auto proposals = strategy->propose(16);
    EXPECT_LE(near_best(proposals), 2);
    strategy->observe(proposals, measure(proposals));
  }
  EXPECT_GE(near_best(strategy->propose(16)), 8);
}
TEST(Evolutionary, KeepsAPoolThatAModelCanRankQuickly) {
  SearchSpace space = with_model(grid(500), waves, 0.2);
  std::size_t most = 0;
  space.rank = [&most, rank = space.rank](const std::vector<Candidate>& candidates) {
    most = std::max(most, candidates.size());
    return rank(candidates);
  };
  best_of(*make("evolutionary", space, 1), waves, 600);
  EXPECT_LE(most, 1500u);
}
TEST(Genetic, BeatsRandomOnABowl) {
  SearchSpace space = grid(100);
  space.first.clear();
  EXPECT_LT(mean_best("ga", space, bowl, 600), mean_best("random", space, bowl, 600));
}

/// Runs a descent to its end; the trials it took and the best of them.
struct Descended {
  int trials = 0;
  double best = std::numeric_limits<double>::infinity();
};
Descended descend(SearchSpace space, const Landscape& landscape, std::uint64_t seed, int most = 10000) {
  const auto strategy = make("descent", std::move(space), seed);
  Descended done;
  while (done.trials < most) {
    const auto proposals = strategy->propose(std::min(16, most - done.trials));
    if (proposals.empty()) break;
    EXPECT_LE(std::ssize(proposals), most - done.trials);
    const auto outcomes = measure(proposals, landscape);
    for (const Outcome& outcome : outcomes) done.best = std::min(done.best, outcome.best_seconds());
    strategy->observe(proposals, outcomes);
    done.trials += static_cast<int>(proposals.size());
  }
  return done;
}

TEST(Descent, FindsTheLowestPointOfABowlInFewTrialsAndEndsThere) {
  SearchSpace space = grid(1000);
  space.first.clear();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Descended done = descend(space, bowl, seed);
    EXPECT_DOUBLE_EQ(done.best, 1e-3);
    EXPECT_LT(done.trials, 400) << "of a million points: the step doubles while it wins";
  }
}
TEST(Descent, FollowsAValleyThatNoDecisionAloneDescends) {
  const auto valley = [](const Candidate& c) {
    const auto x = static_cast<double>(c.choices.at("x")[0]), y = static_cast<double>(c.choices.at("y")[0]);
    return 1e-3 * (1 + 100 * std::abs(x - y) + std::abs(x - 3));
  };
  EXPECT_DOUBLE_EQ(descend(grid(64), valley, 1).best, 1e-3);
}
TEST(Descent, TakesNoMoreTrialsThanItIsGiven) {
  EXPECT_EQ(descend(grid(1000), bowl, 1, 7).trials, 7);
  EXPECT_LE(descend(grid(1000), bowl, 1, 30).trials, 30);
}
TEST(Descent, ProposesTheDefaultAndTheSeedsFirstAndWaitsForTheirOutcomes) {
  const auto strategy = make("descent", grid(8), 1);
  const auto first = strategy->propose(8);
  EXPECT_EQ(first, (std::vector<Candidate>{point(4, 4), point(0, 0)}));
  EXPECT_TRUE(strategy->propose(8).empty()) << "what they take decides what is next";
  strategy->observe(first, measure(first));
  for (const Candidate& candidate : strategy->propose(8)) EXPECT_EQ(distance(candidate, 4, 4), 1);
}
TEST(Descent, DoesNotWaitForACandidateWhoseScheduleAnotherHas) {
  const auto strategy = make("descent", grid(8), 1);
  for (const Candidate& candidate : strategy->propose(8)) strategy->drop(candidate);
  EXPECT_FALSE(strategy->propose(8).empty()) << "nothing runs yet: random ones";
}
TEST(Descent, GoesOnFromWhatAnEarlierRunFound) {
  const auto strategy = make("descent", grid(1000), 1);
  strategy->observe({point(500, 500), point(0, 0), point(7, 7), {"another sketch", {}}},
                    measure({point(9, 9), point(8, 8), point(4, 5), point(3, 5)}));
  const auto proposals = strategy->propose(8);
  EXPECT_EQ(proposals.size(), 4u);
  for (const Candidate& candidate : proposals) EXPECT_EQ(distance(candidate, 7, 7), 1);
}
TEST(Descent, TriesRandomOnesUntilOneRuns) {
  const auto nothing = [](const Candidate&) { return std::numeric_limits<double>::infinity(); };
  EXPECT_EQ(descend(grid(6), nothing, 1).trials, 36);
  EXPECT_TRUE(std::isfinite(descend(grid(12), archipelago, 1).best));
}

TEST(Grid, GoesThroughThePointsInOrder) {
  SearchSpace space = grid(3);
  space.first.clear();
  EXPECT_EQ(make("grid", space, 1)->propose(4),
            (std::vector<Candidate>{point(0, 0), point(0, 1), point(0, 2), point(1, 0)}));
}
TEST(MakeStrategy, NamesTheNearestStrategy) {
  EXPECT_EQ(make_strategy("randon", grid(2), 1).error().message,
            "strategy is \"randon\"; expected one of: evolutionary, xgb, ga, random, grid, descent; did you mean "
            "\"random\"?");
}

/// Runs `rounds` rounds of 10 trials and a second each over tasks whose latency never changes; the trials each got.
std::vector<int> spend_rounds(Budget& budget, const std::vector<double>& seconds, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const auto task = budget.next();
    if (!task) break;
    budget.spend(*task, 10, 1, seconds[static_cast<std::size_t>(*task)]);
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
    budget.spend(order.back(), 8, 1, 1e-3);
  }
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}
TEST(Budget, BeginsEarlierWithWhatIsExpectedToGain) {
  Budget budget({{1, 3e-3}, {.guessed_seconds = 2e-3, .expected = 2}});
  EXPECT_EQ(budget.next(), 1);
}
TEST(Budget, SharesInProportionToWeightTimesLatencyWhileNothingGains) {
  Budget budget({{1}, {2}, {4}});
  const auto trials = spend_rounds(budget, {1e-3, 1e-3, 2e-3}, 110);
  EXPECT_EQ(trials, (std::vector<int>{100, 200, 800}));
  EXPECT_DOUBLE_EQ(budget.network_seconds(), 11e-3);
}
TEST(Budget, EndsWhereTheTasksTakeWhatWasAsked) {
  Budget budget({{1}, {2}}, BudgetPolicy::gradient, {.until = {5e-3}});
  budget.spend(0, 10, 1, 1e-3);
  EXPECT_FALSE(budget.reached()) << "the other task has no latency yet";
  EXPECT_EQ(budget.next(), 1);
  budget.spend(1, 10, 1, 3e-3);
  EXPECT_TRUE(budget.next().has_value()) << "7 ms are more than 5";
  budget.spend(1, 10, 1, 2e-3);
  EXPECT_TRUE(budget.reached());
  EXPECT_EQ(budget.next(), std::nullopt);
}
TEST(Budget, OfSeveralNetworksGoesOnWithTheTasksOfThoseThatAreNotThereYet) {
  const BudgetNetworks two{{1, 1}, Objective::sum, {2e-3, 0}};
  Budget budget({{.weight = 1, .uses = {1, 0}}, {.weight = 2, .uses = {1, 1}}, {.weight = 1, .uses = {0, 1}}},
                BudgetPolicy::round_robin, two);
  for (const int task : {0, 1, 2}) budget.spend(task, 10, 1, 1e-3);
  EXPECT_TRUE(budget.reached(0));
  EXPECT_FALSE(budget.reached()) << "the second network has no limit";
  std::set<int> given;
  for (int round = 0; round < 8; ++round) {
    given.insert(*budget.next());
    budget.spend(*budget.next(), 10, 1, 1e-3);
  }
  EXPECT_EQ(given, (std::set<int>{1, 2})) << "task 0 is of the first network alone";
}
TEST(Budget, PrefersWhatGainedLately) {
  Budget budget({{1}, {1}});
  for (int i = 0; i < 5; ++i) {
    budget.spend(0, 10, 1, 1e-3);
    budget.spend(1, 10, 1, 1e-3 * (1 + 0.1 * (4 - i)));
  }
  EXPECT_EQ(budget.next(), 1);
}
TEST(Budget, GivesLessToWhatTakesLongToTune) {
  Budget budget({{1}, {1}});
  for (int i = 0; i < 50; ++i) {
    const int task = *budget.next();
    budget.spend(task, 10, task == 0 ? 1 : 4, 1e-3);
  }
  EXPECT_NEAR(budget.trials(0), 4 * budget.trials(1), 20);
}
TEST(Budget, ExpectsOfATaskWhatASimilarOneReached) {
  // Both do the same work; the second is at a tenth of the first one's rate: it promises more.
  Budget budget({{1, 1, 1e9, "conv"}, {1, 1, 1e9, "conv"}});
  EXPECT_GT(spend_rounds(budget, {1e-3, 1e-2}, 30)[1], 200);
}
TEST(Budget, InTurnGivesAllTheSameRounds) {
  Budget budget({{1}, {100}, {1}}, BudgetPolicy::round_robin);
  EXPECT_EQ(spend_rounds(budget, {1, 5, 9}, 9), (std::vector<int>{30, 30, 30}));
}
TEST(Budget, PerTaskStaysWithATaskUntilItIsClosed) {
  Budget budget({{1}, {100}}, BudgetPolicy::per_task);
  EXPECT_EQ(spend_rounds(budget, {1, 5}, 3), (std::vector<int>{30, 0}));
  budget.close(0);
  EXPECT_EQ(spend_rounds(budget, {1, 5}, 3), (std::vector<int>{30, 30}));
}
TEST(Budget, GoesOnWithTheOthersWhenATaskIsClosed) {
  Budget budget({{1}, {1}});
  budget.close(0);
  EXPECT_EQ(spend_rounds(budget, {1, 1}, 4), (std::vector<int>{0, 40}));
  budget.close(1);
  EXPECT_FALSE(budget.next().has_value());
}
TEST(Budget, EstimatesWhatIsLeftByWhatTheSecondHalfGained) {
  Budget budget(std::vector<Budget::Part>{{2}});
  budget.spend(0, 50, 1, 4e-3);
  EXPECT_DOUBLE_EQ(budget.remaining_gain(0), 8e-3) << "too early to tell: all of it";
  budget.spend(0, 50, 1, 3e-3);
  EXPECT_DOUBLE_EQ(budget.remaining_gain(0), 2e-3);
  budget.spend(0, 200, 1, 3e-3);
  EXPECT_DOUBLE_EQ(budget.remaining_gain(0), 0);
}
/// Two tasks of a second of tuning a round, of which each network has one, once or more; they take 4 ms and 1 ms. `next` by gain.
Budget of_two_networks(BudgetNetworks networks, double uses_of_first = 1) {
  Budget budget({{.weight = 1, .uses = {uses_of_first, 0}}, {.weight = 1, .uses = {0, 1}}}, BudgetPolicy::gradient,
                std::move(networks));
  for (const auto& [task, seconds] : {std::pair(0, 4e-3), std::pair(1, 1e-3)}) budget.spend(task, 10, 1, seconds);
  return budget;
}

TEST(BudgetOfSeveralNetworks, OfASumGoesWhereMostTimeIs) {
  EXPECT_EQ(of_two_networks({{1, 1}, Objective::sum}).next(), 0);
  EXPECT_EQ(of_two_networks({{1, 5}, Objective::sum}).next(), 1) << "that network runs five times as often";
}
TEST(BudgetOfSeveralNetworks, OfAGeometricMeanCountsSharesOfEachNetwork) {
  // dF/dL is w/L: a tenth of each is worth what it runs.
  EXPECT_EQ(of_two_networks({{1.1, 1}, Objective::geomean}).next(), 0);
  EXPECT_EQ(of_two_networks({{1, 1.1}, Objective::geomean}).next(), 1);
  EXPECT_EQ(of_two_networks({{1, 1.1}, Objective::geomean}, 3).next(), 1) << "however often it has its only task";
}
TEST(BudgetOfSeveralNetworks, OfTheWorstGoesToTheNetworkThatGainedLeast) {
  Budget budget = of_two_networks({{1, 1}, Objective::worst});
  budget.set_untuned(0, 8e-3), budget.set_untuned(1, 1.5e-3);
  EXPECT_EQ(budget.next(), 1) << "1/1.5 is more than 4/8";
  budget.spend(1, 10, 1, 0.5e-3);
  EXPECT_EQ(budget.next(), 0) << "now 4/8 is more than 0.5/1.5";
}
TEST(BudgetOfSeveralNetworks, OfOneIsAsWithoutNetworks) {
  const std::vector<double> seconds = {1e-3, 1e-3, 2e-3};
  Budget one({{1}, {2}, {4}}),
      same({{.weight = 1, .uses = {1}}, {.weight = 2, .uses = {2}}, {.weight = 4, .uses = {4}}}, BudgetPolicy::gradient,
           {{1}, Objective::sum});
  EXPECT_EQ(spend_rounds(one, seconds, 50), spend_rounds(same, seconds, 50));
  EXPECT_DOUBLE_EQ(one.remaining_share(2), same.remaining_share(2));
}
TEST(BudgetOfSeveralNetworks, CountsWhatIsLeftInTheNetworkWhereItIsMost) {
  const Budget budget = of_two_networks({{1, 1}, Objective::sum});
  EXPECT_DOUBLE_EQ(budget.remaining_share(1), 1) << "all of the second network, though a fifth of both";
}
TEST(BudgetOfSeveralNetworks, KnowsItsObjectivesByName) {
  for (const std::string& name : known_objectives()) EXPECT_TRUE(parse_objective(name).has_value()) << name;
  EXPECT_FALSE(parse_objective("product").has_value());
}
TEST(Budget, KnowsItsPoliciesByName) {
  for (const std::string& name : known_budgets()) EXPECT_TRUE(parse_budget(name).has_value()) << name;
  EXPECT_FALSE(parse_budget("fair").has_value());
}

}  // namespace
}  // namespace whet
