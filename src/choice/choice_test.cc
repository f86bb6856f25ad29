#include "choice/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/rng.h"
#include "base/testing/random_cases.h"

namespace whet {
namespace {

ChosenPlans chosen(const ChoiceProblem& problem, const ChoiceOptions& options = {}) {
  const Result<ChosenPlans> plans = choose_plans(problem, options);
  EXPECT_TRUE(plans.ok()) << (plans.ok() ? "" : plans.error().message);
  return plans.ok() ? plans.value() : ChosenPlans{{{}}};
}

std::string error_of(const ChoiceProblem& problem, const ChoiceOptions& options = {}) {
  const Result<ChosenPlans> plans = choose_plans(problem, options);
  return plans.ok() ? "no error" : plans.error().message;
}

std::vector<int> sorted(std::vector<int> items) {
  std::sort(items.begin(), items.end());
  return items;
}

/// The items of `plan` run in their order and write what is wanted.
bool runs(const ChoiceProblem& problem, const std::vector<int>& items) {
  std::vector<char> written(problem.values, 0);
  for (int value : problem.given) written[value] = 1;
  for (int item : items) {
    for (int value : problem.items[item].reads) {
      if (!written[value]) return false;
    }
    for (int value : problem.items[item].writes) written[value] = 1;
  }
  return std::all_of(problem.wanted.begin(), problem.wanted.end(), [&](int value) { return written[value] != 0; });
}

// ---- the naive definition: all subsets ----

struct NaivePlan {
  double seconds;
  std::uint32_t items;
};

/// The items can be ordered and write what is wanted.
bool naive_runs(const ChoiceProblem& problem, std::uint32_t items) {
  std::vector<char> written(problem.values, 0);
  for (int value : problem.given) written[value] = 1;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t item = 0; item < problem.items.size(); ++item) {
      const ChoiceItem& it = problem.items[item];
      if ((items >> item & 1) == 0) continue;
      if (!std::all_of(it.reads.begin(), it.reads.end(), [&](int value) { return written[value] != 0; })) continue;
      for (int value : it.writes) written[value] = 1;
      items &= ~(std::uint32_t{1} << item);
      more = true;
    }
  }
  return items == 0 &&
         std::all_of(problem.wanted.begin(), problem.wanted.end(), [&](int value) { return written[value] != 0; });
}

std::uint32_t mask_of(const std::vector<int>& items) {
  std::uint32_t mask = 0;
  for (int item : items) mask |= std::uint32_t{1} << item;
  return mask;
}

/// Every plan without an item that could be left out, the best first.
std::vector<NaivePlan> naive_plans(const ChoiceProblem& problem, const ChoiceOptions& options) {
  const std::uint32_t all = std::uint32_t{1} << problem.items.size();
  const std::uint32_t required = mask_of(options.required), forbidden = mask_of(options.forbidden);
  std::vector<char> plan(all, 0);
  std::vector<NaivePlan> plans;
  for (std::uint32_t items = 0; items < all; ++items) {
    plan[items] = (items & required) == required && (items & forbidden) == 0 && naive_runs(problem, items);
    if (!plan[items]) continue;
    bool spare = false;
    double seconds = 0;
    for (std::size_t item = 0; item < problem.items.size(); ++item) {
      if ((items >> item & 1) == 0) continue;
      seconds += problem.items[item].seconds;
    }
    // Any smaller plan inside, not only one with one item less: two items may need each other.
    for (std::uint32_t inside = (items - 1) & items; items != 0 && !spare; inside = (inside - 1) & items) {
      spare = plan[inside] != 0;
      if (inside == 0) break;
    }
    if (!spare) plans.push_back({seconds, items});
  }
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return plans;
}

ChoiceProblem random_problem(Rng& rng) {
  ChoiceProblem problem;
  problem.values = static_cast<int>(rng.between(2, 8));
  const auto some_values = [&](int least, int most) {
    std::vector<int> values;
    for (std::int64_t i = rng.between(least, most); i > 0; --i)
      values.push_back(static_cast<int>(rng.below(problem.values)));
    return values;
  };
  problem.given = some_values(1, 2);
  problem.wanted = some_values(1, 2);
  const std::int64_t count = rng.between(1, 13);
  const bool round = rng.chance(0.3);  // many ties, and items for nothing
  const double unit = std::pow(10.0, rng.uniform(-7, -2));
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0 && rng.chance(0.15)) {
      problem.items.push_back(problem.items[rng.below(i)]);
      if (rng.chance(0.5)) problem.items.back().seconds *= 1.25;
      continue;
    }
    const bool transform = rng.chance(0.5);
    const double seconds = round ? static_cast<double>(rng.below(4)) : rng.uniform(0.01, 1);
    problem.items.push_back(
        {some_values(transform, transform ? 1 : 3), some_values(1, transform ? 1 : 3), seconds * unit});
  }
  return problem;
}

ChoiceOptions random_options(Rng& rng, int count) {
  ChoiceOptions options;
  const auto some_items = [&](std::int64_t most) {
    std::vector<int> items;
    for (std::int64_t i = rng.between(0, most); i > 0; --i) items.push_back(static_cast<int>(rng.below(count)));
    return items;
  };
  if (rng.chance(0.3)) options.required = some_items(2);
  if (rng.chance(0.3)) options.forbidden = some_items(3);
  if (rng.chance(0.5)) options.usual = some_items(6);
  options.plans = rng.chance(0.5) ? 1 : static_cast<int>(rng.between(2, 5));
  return options;
}

void expect_as_naive(const ChoiceProblem& problem, const ChoiceOptions& options) {
  const std::vector<NaivePlan> expected = naive_plans(problem, options);
  const Result<ChosenPlans> found = choose_plans(problem, options);
  ASSERT_EQ(found.ok(), !expected.empty()) << (found.ok() ? "" : found.error().message);
  if (!found.ok()) return;
  EXPECT_TRUE(found->optimal);
  EXPECT_EQ(found->gap, 0);
  EXPECT_EQ(found->bound, found->plans[0].seconds);
  ASSERT_EQ(found->plans.size(), std::min<std::size_t>(expected.size(), options.plans));
  std::set<std::uint32_t> before;
  for (std::size_t i = 0; i < found->plans.size(); ++i) {
    const ChosenPlan& plan = found->plans[i];
    const std::uint32_t items = mask_of(plan.items);
    EXPECT_NEAR(plan.seconds, expected[i].seconds, 1e-6 * expected[0].seconds + 1e-15) << "plan " << i;
    EXPECT_TRUE(runs(problem, plan.items));
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [&](const auto& one) { return one.items == items; }))
        << "plan " << i;
    EXPECT_TRUE(before.insert(items).second) << "plan " << i << " is there twice";
    EXPECT_GE(plan.seconds, found->plans[i == 0 ? 0 : i - 1].seconds * (1 - 1e-6));
  }
}

TEST(Choice, IsTheOneOfAllSubsetsThatTakesLeast) {
  Rng rng(25);
  int solvable = 0;
  Rng grouping(26);
  const int cases = testing::random_cases(1000);
  for (int i = 0; i < cases; ++i) {
    ChoiceProblem problem = random_problem(rng);
    // What is said to be one tensor changes no plan, whether it is or not.
    for (int value = 0; i % 2 == 1 && value < problem.values; ++value)
      problem.tensors.push_back(static_cast<int>(grouping.below(4)) * 7 - 3);
    const ChoiceOptions options = random_options(rng, static_cast<int>(problem.items.size()));
    SCOPED_TRACE("problem " + std::to_string(i));
    expect_as_naive(problem, options);
    if (HasFailure()) {
      return;
    }
    solvable += choose_plans(problem, options).ok();
  }
  // The test is worth something as long as both kinds are among the problems.
  EXPECT_GT(solvable, cases / 5);
  EXPECT_LT(solvable, cases * 9 / 10);
}

// ---- budgets ----

/// What the items of a plan use of a budget.
double use_of_plan(const ChoiceProblem& problem, std::uint32_t items, std::size_t budget) {
  double used = 0;
  for (std::size_t item = 0; item < problem.items.size(); ++item)
    if ((items >> item & 1) != 0 && !problem.items[item].uses.empty()) used += problem.items[item].uses[budget];
  return used;
}

bool naively_keeps(const ChoiceProblem& problem, std::uint32_t items) {
  for (std::size_t b = 0; b < problem.budgets.size(); ++b)
    if (use_of_plan(problem, items, b) > problem.budgets[b]) return false;
  return true;
}

/// Items that are faster and use more; some use nothing.
void add_budgets(ChoiceProblem& problem, Rng& rng) {
  const auto count = static_cast<std::size_t>(rng.between(1, 2));
  const double unit = std::pow(10.0, rng.uniform(-6, 2));
  const std::size_t before = problem.items.size();
  for (std::size_t i = 0; i < before && problem.items.size() < 14; ++i) {
    if (!rng.chance(0.5)) continue;
    problem.items.push_back(problem.items[i]);
    problem.items.back().seconds *= rng.uniform(0.3, 1);
    for (std::size_t b = 0; b < count; ++b) problem.items.back().uses.push_back(rng.uniform(0, 1) * unit);
  }
  for (std::size_t b = 0; b < count; ++b) problem.budgets.push_back(rng.chance(0.1) ? 0 : rng.uniform(0.1, 2) * unit);
}

TEST(Budget, EqualsEnumerationOnSmallNetworks) {
  Rng rng(56);
  const int cases = testing::random_cases(200);
  int binding = 0;
  for (int i = 0; i < cases; ++i) {
    ChoiceProblem problem = random_problem(rng);
    add_budgets(problem, rng);
    ChoiceOptions options = random_options(rng, static_cast<int>(problem.items.size()));
    SCOPED_TRACE("problem " + std::to_string(i));
    std::vector<NaivePlan> expected = naive_plans(problem, options);
    std::erase_if(expected, [&](const NaivePlan& plan) { return !naively_keeps(problem, plan.items); });
    const Result<ChosenPlans> found = choose_plans(problem, options);
    ASSERT_EQ(found.ok(), !expected.empty()) << (found.ok() ? "" : found.error().message);
    if (!found.ok()) continue;
    ASSERT_EQ(found->plans.size(), std::min<std::size_t>(expected.size(), options.plans));
    for (std::size_t p = 0; p < found->plans.size(); ++p) {
      const ChosenPlan& plan = found->plans[p];
      EXPECT_TRUE(runs(problem, plan.items));
      ASSERT_NEAR(plan.seconds, expected[p].seconds, 1e-6 * expected[0].seconds + 1e-15) << "plan " << p;
    }
    EXPECT_LE(found->bound, found->plans[0].seconds);
    ChoiceProblem free = problem;
    free.budgets.clear();
    for (ChoiceItem& item : free.items) item.uses.clear();
    const Result<ChosenPlans> without = choose_plans(free, options);
    binding += without.ok() && without->plans[0].seconds < found->plans[0].seconds * (1 - 1e-6);
  }
  EXPECT_GT(binding, cases / 20);
}

/// `layers` one behind the other, each exactly, or in two ways that are faster and use some of the budget.
ChoiceProblem chain_with_budget(int layers, std::uint64_t seed, double budget) {
  Rng rng(seed);
  ChoiceProblem problem;
  problem.values = layers + 1, problem.given = {0}, problem.wanted = {layers};
  for (int layer = 0; layer < layers; ++layer) {
    const double seconds = std::pow(10.0, rng.uniform(-5, -3)), error = std::pow(10.0, rng.uniform(-6, -3));
    problem.items.push_back({{layer}, {layer + 1}, seconds});
    problem.items.push_back({{layer}, {layer + 1}, 0.51 * seconds, {0.06 * error}});
    problem.items.push_back({{layer}, {layer + 1}, 0.27 * seconds, {error}});
  }
  problem.budgets = {budget};
  return problem;
}

TEST(Budget, NoPlanUsesMore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ChoiceProblem problem = chain_with_budget(40, seed, 1e-4);
    ChoiceOptions options;
    options.gap = 1e-3;
    const ChosenPlans plans = chosen(problem, options);
    double used = 0;
    for (int item : plans.plans[0].items)
      if (!problem.items[item].uses.empty()) used += problem.items[item].uses[0];
    EXPECT_LE(used, 1e-4 * (1 + 1e-6));
    EXPECT_TRUE(runs(problem, plans.plans[0].items));
    EXPECT_TRUE(plans.optimal);
    EXPECT_LE(plans.gap, 1e-3);
    EXPECT_LE(plans.bound, plans.plans[0].seconds);
  }
}

TEST(Budget, OfNothingLeavesItemsThatUseNothing) {
  ChoiceProblem problem = chain_with_budget(10, 3, 0);
  const ChosenPlans frugal = chosen(problem);
  for (int item : frugal.plans[0].items) EXPECT_EQ(item % 3, 0);
  problem.budgets = {1e9};
  const ChosenPlans fast = chosen(problem);
  for (int item : fast.plans[0].items) EXPECT_EQ(item % 3, 2);
}

TEST(Budget, IsKeptWhereTimeIsUp) {
  const ChoiceProblem problem = chain_with_budget(40, 1, 1e-4);
  ChoiceOptions options;
  options.seconds_limit = 1e-9;
  const ChosenPlans plans = chosen(problem, options);
  double used = 0;
  for (int item : plans.plans[0].items)
    if (!problem.items[item].uses.empty()) used += problem.items[item].uses[0];
  EXPECT_LE(used, 1e-4 * (1 + 1e-6));
  EXPECT_TRUE(runs(problem, plans.plans[0].items));
}

TEST(Budget, ThatNoPlanKeepsIsASentence) {
  ChoiceProblem problem = {2, {0}, {1}, {{{0}, {1}, 1e-6, {2}}}, {}, {1}};
  EXPECT_EQ(error_of(problem), "no plan keeps the budgets: value 1 is wanted, and all items that write it are forbidden");
  ChoiceOptions options;
  options.required = {0};
  EXPECT_EQ(error_of(problem, options), "item 0 is required and uses more than a budget alone");
  problem = {3, {0}, {2}, {{{0}, {1}, 1e-6, {0.6}}, {{1}, {2}, 1e-6, {0.6}}}, {}, {1}};
  EXPECT_EQ(error_of(problem), "no plan keeps the budgets");
  problem.items[1].uses = {0.1, 0.1};
  EXPECT_EQ(error_of(problem), "item 1 uses 2 budgets; it has to be all 1 of the problem or none");
  problem.items[1].uses = {-1};
  EXPECT_EQ(error_of(problem), "item 1 uses -1 of a budget; it has to be finite and 0 or more");
  problem.items[1].uses = {}, problem.budgets = {-1};
  EXPECT_EQ(error_of(problem), "a budget is -1; it has to be finite and 0 or more");
  problem.budgets = {1}, options = {}, options.gap = 1;
  EXPECT_EQ(error_of(problem, options), "the gap is 1; it has to be 0 or more, and less than 1");
}

/// A wanted value that two plans of one item each write in 1 s, and one in 2 s.
ChoiceProblem three_ways(double first = 1, double second = 1) {
  return {2, {0}, {1}, {{{0}, {1}, first * 1e-6}, {{0}, {1}, second * 1e-6}, {{0}, {1}, 2e-6}}};
}

TEST(Choice, OfEqualPlansIsTheUsualOne) {
  EXPECT_EQ(chosen(three_ways()).plans[0].items, std::vector<int>({0}));
  ChoiceOptions options;
  options.usual = {1};
  EXPECT_EQ(chosen(three_ways(), options).plans[0].items, std::vector<int>({1}));
  EXPECT_EQ(chosen(three_ways(0.99), options).plans[0].items, std::vector<int>({0}));
  options.usual = {2};
  EXPECT_EQ(chosen(three_ways(), options).plans[0].items, std::vector<int>({0}));
}

TEST(Choice, KeepsUsualItemsInThePartThatIsEqual) {
  // Values 1 and 2 are wanted; what writes 1 has a faster way than the usual one, what writes 2 has an equal one by two items.
  const ChoiceProblem problem = {
      4, {0}, {1, 2}, {{{0}, {1}, 3e-6}, {{0}, {1}, 1e-6}, {{0}, {3}, 2e-6}, {{3}, {2}, 2e-6}, {{0}, {2}, 4e-6}}};
  ChoiceOptions options;
  options.usual = {0, 2, 3};
  EXPECT_EQ(chosen(problem, options).plans[0].items, std::vector<int>({1, 2, 3}));
  options.usual = {0, 4};
  EXPECT_EQ(chosen(problem, options).plans[0].items, std::vector<int>({1, 4}));
}

TEST(Choice, HasAllRequiredItemsAndNoForbiddenOnes) {
  ChoiceOptions options;
  options.required = {2};
  const ChosenPlans forced = chosen(three_ways(), options);
  EXPECT_EQ(forced.plans[0].items, std::vector<int>({2}));
  EXPECT_EQ(forced.bound, 2e-6);
  options.required = {};
  options.forbidden = {0, 2};
  EXPECT_EQ(chosen(three_ways(), options).plans[0].items, std::vector<int>({1}));
}

TEST(Choice, GivesPlansThatDifferInADistinctItem) {
  // Two steps of two ways each.
  const ChoiceProblem problem = {3, {0}, {2}, {{{0}, {1}, 1e-6}, {{0}, {1}, 2e-6}, {{1}, {2}, 1e-6}, {{1}, {2}, 4e-6}}};
  ChoiceOptions options;
  options.plans = 10;
  std::vector<std::vector<int>> items;
  for (const ChosenPlan& plan : chosen(problem, options).plans) items.push_back(plan.items);
  EXPECT_EQ(items, (std::vector<std::vector<int>>{{0, 2}, {1, 2}, {0, 3}, {1, 3}}));
  options.distinct = {2, 3};
  items.clear();
  for (const ChosenPlan& plan : chosen(problem, options).plans) items.push_back(plan.items);
  EXPECT_EQ(items, (std::vector<std::vector<int>>{{0, 2}, {0, 3}}));
}

TEST(Choice, ComputesACheapValueTwice) {
  // Item 0 writes value 1 for two readers; items 3 and 4 compute it inside.
  ChoiceProblem problem = {
      4, {0}, {2, 3}, {{{0}, {1}, 1e-6}, {{1}, {2}, 5e-6}, {{1}, {3}, 5e-6}, {{0}, {2}, 5.2e-6}, {{0}, {3}, 5.2e-6}}};
  EXPECT_EQ(chosen(problem).plans[0].items, std::vector<int>({3, 4}));
  problem.items[0].seconds = 0.1e-6;
  EXPECT_EQ(chosen(problem).plans[0].items, std::vector<int>({0, 1, 2}));
}

TEST(Choice, IsNotACircleOfTransforms) {
  // Values 1, 2, 3 are layouts with cheap transforms in a circle; items 3 and 4 start it. Items 5 and 6 read each other crosswise.
  const ChoiceProblem problem = {8,
                                 {0},
                                 {3, 6, 7},
                                 {{{1}, {2}, 1e-9},
                                  {{2}, {3}, 1e-9},
                                  {{3}, {1}, 1e-9},
                                  {{0}, {1}, 5e-6},
                                  {{0}, {3}, 7e-6},
                                  {{4}, {5, 6}, 1e-9},
                                  {{5}, {4, 7}, 1e-9},
                                  {{0}, {4}, 3e-6},
                                  {{0}, {5}, 4e-6}}};
  EXPECT_EQ(sorted(chosen(problem).plans[0].items), std::vector<int>({0, 1, 3, 5, 6, 7}));
}

TEST(Choice, OfNothingIsAnEmptyPlan) {
  EXPECT_TRUE(chosen({}).plans[0].items.empty());
  EXPECT_TRUE(chosen({1, {0}, {0}, {{{0}, {0}, 1e-6}}}).plans[0].items.empty());
}

TEST(Choice, RefusesWhatHasNoPlan) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of({2, {0}, {1}, {}}), "value 1 is wanted, and no item writes it");
  EXPECT_EQ(error_of({3, {0}, {1}, {{{2}, {1}, 1}}}),
            "value 1 is wanted, and no item that writes it can run, as what they read cannot be computed from the "
            "given values");
  EXPECT_EQ(error_of({2, {0}, {2}, {}}), "wanted is value 2, which is no value of the problem: they are 0 .. 1");
  EXPECT_EQ(error_of({0, {0}, {}, {}}), "given is value 0, which is no value of the problem: there are none");
  EXPECT_EQ(error_of({-1, {}, {}, {}}), "the number of values is -1; it has to be 0 or more");
  EXPECT_EQ(error_of({1, {}, {}, {{{0}, {-3}, 1}}}),
            "item 0 writes value -3, which is no value of the problem: they are 0 .. 0");
  EXPECT_EQ(error_of({1, {}, {}, {{{}, {0}, -1}}}), "item 0 takes -1 seconds; they have to be finite and 0 or more");
  EXPECT_EQ(error_of({1, {}, {}, {{{}, {0}, inf}}}), "item 0 takes inf seconds; they have to be finite and 0 or more");
  EXPECT_EQ(error_of({2, {0}, {1}, {{{0}, {1}, 1}}, {5}}),
            "there are the tensors of 1 values; it has to be those of all 2 or none");
  ChoiceOptions options;
  options.required = {1, 2}, options.forbidden = {2};
  EXPECT_EQ(error_of(three_ways(), options), "item 2 is required and forbidden; it can be one of both");
  options.required = {}, options.forbidden = {0, 1, 2};
  EXPECT_EQ(error_of(three_ways(), options), "value 1 is wanted, and all items that write it are forbidden");
  options.forbidden = {7};
  EXPECT_EQ(error_of(three_ways(), options), "forbidden is item 7, which is no item of the problem: they are 0 .. 2");
  options.forbidden = {}, options.required = {0};
  EXPECT_EQ(error_of({2, {}, {}, {{{1}, {0}, 1}}}, options),
            "item 0 is required and reads value 1, and no item writes it");
  options.required = {}, options.plans = 0;
  EXPECT_EQ(error_of(three_ways(), options), "0 plans are asked for; it has to be 1 or more");
  options.plans = 1, options.seconds_limit = 0;
  EXPECT_EQ(error_of(three_ways(), options), "the solver's limit is 0 seconds; it has to be more than 0");
}

TEST(Choice, OfGarbageIsASentence) {
  Rng rng(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    ChoiceProblem problem = random_problem(rng);
    ChoiceOptions options = random_options(rng, static_cast<int>(problem.items.size()));
    const int wrong = rng.chance(0.5) ? -static_cast<int>(rng.below(3)) - 1 : static_cast<int>(rng.below(40));
    ChoiceItem& item = problem.items[rng.below(static_cast<std::int64_t>(problem.items.size()))];
    std::vector<int>* const lists[] = {&problem.given,    &problem.wanted,    &item.reads,    &item.writes,
                                       &options.required, &options.forbidden, &options.usual, &options.distinct};
    lists[rng.below(8)]->push_back(wrong);
    if (rng.chance(0.2)) item.seconds = std::vector<double>{-1, std::nan(""), 1e300, 0, 1e-300}[rng.below(5)];
    const Result<ChosenPlans> plans = choose_plans(problem, options);
    if (plans.ok()) {
      for (const ChosenPlan& plan : plans->plans) EXPECT_TRUE(runs(problem, plan.items)) << i;
      continue;
    }
    ++refused;
    EXPECT_EQ(plans.error().kind, ErrorKind::invalid_input) << plans.error().message;
    EXPECT_EQ(plans.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 500);
}

// ---- networks with layouts ----

struct NetworkSize {
  const char* name;
  int tensors, layouts;
  int joins;            // of 100 tensors, how many are computed from two
  bool all_transforms;  // between any two layouts of a tensor, not only from and to the first one
  bool random_costs;    // otherwise layouts differ as they do on machines, and kernels by 15%
};

/// A network whose tensors have several layouts: a kernel for each tensor and layout, transforms between any two layouts of a tensor,
/// kernels that compute two tensors in a row or two of the same input, and double ones.
ChoiceProblem network_problem(const NetworkSize& size, std::uint64_t seed) {
  Rng rng(seed);
  ChoiceProblem problem;
  problem.values = size.tensors * size.layouts;
  const auto value = [&](int tensor, int layout) { return tensor * size.layouts + layout; };
  problem.given = {value(0, 0)};
  problem.wanted = {value(size.tensors - 1, 0)};
  std::vector<std::vector<int>> inputs(size.tensors);
  std::vector<double> work(size.tensors), bytes(size.tensors);
  for (int tensor = 0; tensor < size.tensors; ++tensor) {
    bytes[tensor] = std::pow(10.0, rng.uniform(-6, -4));
    work[tensor] = rng.chance(0.5) ? bytes[tensor] : std::pow(10.0, rng.uniform(-5, -3));
    if (tensor == 0) continue;
    inputs[tensor] = {tensor - 1};
    if (tensor > 6 && rng.below(100) < size.joins)
      inputs[tensor].push_back(tensor - static_cast<int>(rng.between(2, 6)));
  }
  const std::vector<double> of_layout = {1, 1.3, 1.3, 1.1, 1, 0.97, 1.15, 1.2};
  const auto factor = [&](int layout) {
    return size.random_costs ? rng.uniform(0.7, 1.4) : of_layout[layout] * rng.uniform(0.85, 1.15);
  };
  const auto reads_of = [&](int tensor, int layout) {
    std::vector<int> reads;
    for (int input : inputs[tensor]) reads.push_back(value(input, layout));
    return reads;
  };
  for (int tensor = 0; tensor < size.tensors; ++tensor) {
    const bool fuses = tensor > 1 && rng.chance(0.3);
    for (int layout = 0; layout < size.layouts; ++layout) {
      if (tensor > 0)
        problem.items.push_back({reads_of(tensor, layout), {value(tensor, layout)}, work[tensor] * factor(layout)});
      for (int other = 0; other < size.layouts; ++other) {
        if (other != layout && (other == 0 || layout == 0 || size.all_transforms))
          problem.items.push_back(
              {{value(tensor, layout)}, {value(tensor, other)}, bytes[tensor] * rng.uniform(0.5, 1.5)});
      }
      if (!fuses) continue;
      // A tensor and the one before it: one kernel that keeps the first to itself, and one that writes both.
      std::vector<int> reads = reads_of(tensor - 1, layout);
      for (int input : inputs[tensor]) {
        if (input != tensor - 1) reads.push_back(value(input, layout));
      }
      const double seconds = (work[tensor - 1] + work[tensor]) * 0.9 * factor(layout);
      problem.items.push_back({reads, {value(tensor, layout)}, seconds});
      problem.items.push_back({reads, {value(tensor - 1, layout), value(tensor, layout)}, seconds * 1.05});
    }
  }
  return problem;
}

std::vector<std::vector<int>> items_of(const ChosenPlans& plans) {
  std::vector<std::vector<int>> items;
  for (const ChosenPlan& plan : plans.plans) items.push_back(plan.items);
  return items;
}

TEST(ChoiceOfANetwork, IsTheSameEachTimeAndPrintsNothing) {
  const ChoiceProblem problem = network_problem({"small", 30, 4, 30, true, false}, 3);
  ChoiceOptions options;
  options.plans = 3;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ChosenPlans first = chosen(problem, options), second = chosen(problem, options);
  EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(items_of(first), items_of(second));
  EXPECT_EQ(first.plans.size(), 3u);
  EXPECT_LE(first.plans[0].seconds, first.plans[1].seconds * (1 + 1e-7));
  EXPECT_LE(first.plans[1].seconds, first.plans[2].seconds * (1 + 1e-7));
}

TEST(ChoiceOfANetwork, StaysWithAPlanThatIsTheBest) {
  const ChoiceProblem problem = network_problem({"small", 30, 4, 30, true, false}, 4);
  ChoiceOptions options;
  options.usual = sorted(chosen(problem).plans[0].items);
  EXPECT_EQ(sorted(chosen(problem, options).plans[0].items), options.usual);
}

TEST(ChoiceOfANetwork, IsTheKnownPlanWhereTimeIsUp) {
  const ChoiceProblem problem = network_problem({"middle", 60, 7, 30, true, true}, 5);
  ChoiceOptions options;
  for (int item = 0; item < static_cast<int>(problem.items.size()); ++item) {
    const ChoiceItem& it = problem.items[item];
    const bool channels_last = it.reads[0] % 7 == 0 && it.writes[0] % 7 == 0 && it.writes[0] / 7 == it.reads[0] / 7 + 1;
    if (channels_last && it.writes.size() == 1) options.usual.push_back(item);
  }
  options.seconds_limit = 1e-9;
  const ChosenPlans plans = chosen(problem, options);
  EXPECT_FALSE(plans.optimal);
  EXPECT_TRUE(runs(problem, plans.plans[0].items));
  EXPECT_GE(plans.gap, 0);
  EXPECT_LE(plans.bound, chosen(problem).plans[0].seconds * (1 + 1e-7));
}

class LargeNetwork : public ::testing::TestWithParam<NetworkSize> {};

TEST_P(LargeNetwork, IsSolvedToOptimality) {
  if (testing::kSanitized && GetParam().tensors > 200) GTEST_SKIP() << "half a minute under sanitizers";
  const ChoiceProblem problem = network_problem(GetParam(), 7);
  ChoiceOptions options;
  options.seconds_limit = 600;  // for slow machines and sanitizers
  const ChosenPlans plans = chosen(problem, options);
  EXPECT_TRUE(plans.optimal);
  EXPECT_TRUE(runs(problem, plans.plans[0].items));
}

INSTANTIATE_TEST_SUITE_P(Choice, LargeNetwork,
                         ::testing::Values(NetworkSize{"resnet50", 120, 7, 15, true, false},
                                           NetworkSize{"inception_v3", 220, 7, 30, true, false},
                                           NetworkSize{"densenet121", 450, 7, 30, true, false},
                                           NetworkSize{"resnet50_at_random", 120, 7, 15, true, true},
                                           NetworkSize{"resnet50_by_one_layout", 120, 7, 15, false, false},
                                           NetworkSize{"inception_v3_by_one_layout", 220, 7, 30, false, false}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace whet
