// Plans with covers: chosen by prices drawn at random, they give the answers of the usual plan, and are found again by their
// names.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/testing/random_cases.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_graph.h"
#include "plan/plan.h"
#include "task/testing/evaluate_groups.h"
#include "tensor/compare.h"

namespace whet {
namespace cover_plan_test {

using testing::GraphBuilder;

Target target() { return *parse_target("cpu -mcpu=haswell -threads=2"); }

/// A network of branches: siblings of one window whose results go into a concatenation, into convolutions, or both, and
/// chains of narrow convolutions.
class RandomBranches {
 public:
  explicit RandomBranches(std::uint64_t seed) : rng_(seed) {}

  Graph draw() {
    ValueId x = b_.relu("x", b_.conv("first", b_.input("in", {1 + pick(2), 3, 7, 7}), 16, 1));
    const auto modules = 1 + pick(2);
    for (std::int64_t m = 0; m < modules; ++m) x = module("m" + std::to_string(m), x);
    return b_.finish({b_.relu("out", b_.conv("last", x, 8, 1)), x});
  }

 private:
  std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(rng_.below(n)); }
  std::int64_t channels() { return 8 * (1 + pick(3)); }

  ValueId branch(const std::string& name, ValueId x) {
    const bool wide = pick(3) == 0;
    const ValueId conv = b_.conv(name + "_conv", x, channels(), wide ? 3 : 1, 1, wide ? 1 : 0);
    return pick(4) == 0 ? conv : b_.relu(name, conv);
  }
  /// A depthwise convolution and the pointwise one that reads it.
  ValueId bottleneck(const std::string& name, ValueId x) {
    const std::int64_t width = b_.graph.value(x).type.shape[1];
    const ValueId deep = b_.relu(name + "_dw", b_.conv(name + "_dwc", x, width, 3, 1, 1, width));
    return b_.relu(name + "_pw", b_.conv(name + "_pwc", deep, channels(), 1));
  }
  ValueId pooled(const std::string& name, ValueId x) {
    const PoolOperator pool{PoolKind::max, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
    return b_.add(name + "_pool", pool, {x});
  }
  ValueId module(const std::string& name, ValueId x) {
    std::vector<ValueId> parts;
    const auto branches = 2 + pick(3);
    for (std::int64_t i = 0; i < branches; ++i) {
      const std::string n = name + "_" + std::to_string(i);
      ValueId part = branch(n, x);
      if (pick(3) == 0)
        part = branch(n + "_deep", part);
      else if (pick(3) == 0)
        part = bottleneck(n, part);
      else if (pick(3) == 0)
        part = pooled(n, part);
      else if (pick(3) == 0)
        part = b_.unary(n + "_tanh", UnaryKind::tanh, part);
      parts.push_back(part);
    }
    if (pick(4) == 0) std::reverse(parts.begin(), parts.end());
    return b_.add(name + "_cat", ConcatOperator{1}, parts);
  }

  GraphBuilder b_;
  Rng rng_;
};

std::vector<Price> random_prices(const Alternatives& alternatives, Rng& rng) {
  std::vector<Price> prices;
  for (const Alternative& a : alternatives.all) {
    Price price{PriceKind::measured, 0, 0};
    price.seconds = price.bound = a.task < 0 ? 0 : 1e-6 * static_cast<double>(1 + rng.below(20));
    if (a.kind == AlternativeKind::cover) price.seconds = price.bound = price.seconds / 4;
    if (a.task < 0) price.kind = PriceKind::free;
    prices.push_back(price);
  }
  return prices;
}

void expect_answers_of_the_usual(const FusedGraph& usual, const FusedGraph& other, std::uint64_t seed) {
  const std::vector<Tensor> inputs = testing::random_inputs(usual.graph, seed);
  const auto want = testing::evaluate_groups(usual, inputs), got = testing::evaluate_groups(other, inputs);
  ASSERT_TRUE(want.ok() && got.ok()) << (got.ok() ? "" : got.error().message) << to_text(other);
  for (std::size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(compare((*got)[i], (*want)[i], 1e-4).mismatches, 0) << "seed " << seed << "\n" << to_text(other);
}

/// Chooses by random prices; the number of covers in the plan.
int check_random_plan(const FusedGraph& fused, const std::vector<ActivationLayout>& forms, std::uint64_t seed) {
  const Alternatives found = find_alternatives(fused, target(), {forms}).value();
  Rng rng(seed);
  const auto plans = best_plans(fused, found, random_prices(found, rng));
  EXPECT_TRUE(plans.ok()) << plans.error().message;
  const NetworkPlan& plan = plans->best.front();
  const auto network = assemble(fused, found, plan.alternatives);
  EXPECT_TRUE(network.ok()) << network.error().message << " seed " << seed;
  if (!network.ok()) return 0;
  expect_answers_of_the_usual(fused, *network, seed);
  const std::vector<PlannedKernel> kernels = kernels_of(fused, found, plan);
  const auto again = find_plan(fused, found, kernels);
  EXPECT_TRUE(again.ok()) << again.error().message << " seed " << seed;
  if (again.ok()) {
    std::vector<int> have = again->alternatives, want = plan.alternatives;
    std::sort(have.begin(), have.end()), std::sort(want.begin(), want.end());
    EXPECT_EQ(have, want) << "seed " << seed;
  }
  return static_cast<int>(std::count_if(plan.alternatives.begin(), plan.alternatives.end(), [&](int a) {
    return found.all[static_cast<std::size_t>(a)].kind == AlternativeKind::cover;
  }));
}

TEST(PlansWithCovers, OfRandomBranchesHaveTheAnswersOfTheUsualOnes) {
  int covers = 0;
  const auto cases = static_cast<std::uint64_t>(testing::random_cases(60));
  for (std::uint64_t seed = 0; seed < cases; ++seed)
    covers +=
        check_random_plan(optimize(RandomBranches(seed).draw(), {}).value(),
                          seed % 3 == 0 ? std::vector<ActivationLayout>{{8}} : std::vector<ActivationLayout>{}, seed);
  EXPECT_GE(covers, static_cast<int>(cases / 3));
}

double price_of(const Task& task) { return 1e-6 * (1 + static_cast<double>(hash_bytes(task.key) % 64)); }

/// A concatenation that a plan pays may turn out to be in place, where merged channels make its parts begin on lines.
TEST(PlansWithCovers, CostNoLessThanTheirNetworksRun) {
  int covers = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const FusedGraph fused = optimize(RandomBranches(seed).draw(), {}).value();
    const Alternatives found = find_alternatives(fused, target(), {}).value();
    std::vector<Price> prices(found.all.size());
    for (std::size_t a = 0; a < found.all.size(); ++a)
      if (const int task = found.all[a].task; task >= 0)
        prices[a] = {PriceKind::measured, price_of(found.tasks[static_cast<std::size_t>(task)]), 0};
    for (std::size_t a = 0; a < found.all.size(); ++a) {
      if (found.all[a].kind != AlternativeKind::cover) continue;
      const auto plans = best_plans(fused, found, prices, {.required = {static_cast<int>(a)}});
      ASSERT_TRUE(plans.ok()) << plans.error().message;
      const auto network = assemble(fused, found, plans->best.front().alternatives);
      ASSERT_TRUE(network.ok()) << network.error().message;
      const std::vector<Task> tasks = extract_tasks(*network, target()).value();
      double runs = 0;
      for (const Task& task : tasks) runs += task.weight * price_of(task);
      const double costs = plans->best.front().seconds;
      EXPECT_GE(costs, runs - 1e-12) << "seed " << seed << " " << found.all[a].name << "\n" << to_text(*network);
      ++covers, equal += costs <= runs + 1e-12;
    }
  }
  EXPECT_GE(covers, 50);
  EXPECT_GE(equal, covers * 9 / 10);
}

/// Each chain is the plan when the others are dear; their names.
std::set<std::string> check_each_chain(const FusedGraph& fused) {
  const Alternatives found = find_alternatives(fused, target(), {}).value();
  std::set<std::string> names;
  for (std::size_t a = 0; a < found.all.size(); ++a) {
    if (!names_chain(found.all[a].name)) continue;
    names.insert(found.all[a].name);
    std::vector<Price> prices;
    for (const Alternative& other : found.all)
      prices.push_back({PriceKind::measured, other.kind == AlternativeKind::cover ? 100e-6 : 10e-6, 0});
    prices[a].seconds = 1e-6;
    const auto plans = best_plans(fused, found, prices);
    EXPECT_TRUE(plans.ok()) << plans.error().message;
    if (!plans.ok()) continue;
    const auto& plan = plans->best.front().alternatives;
    EXPECT_EQ(std::count(plan.begin(), plan.end(), static_cast<int>(a)), 1) << found.all[a].name;
    expect_answers_of_the_usual(fused, assemble(fused, found, plan).value(), a);
  }
  return names;
}

/// An inverted bottleneck with a residual.
TEST(PlansWithCovers, OfEachChainHaveTheAnswersOfTheUsualOnes) {
  GraphBuilder b;
  const ValueId x = b.relu("x", b.conv("first", b.input("in", {1, 3, 9, 9}), 8, 3, 1, 1));
  const ValueId wide = b.relu("wide", b.conv("expand", x, 24, 1));
  const ValueId deep = b.relu("deep", b.conv("depthwise", wide, 24, 3, 1, 1, 24));
  const ValueId sum = b.plus("sum", b.conv("project", deep, 8, 1), x);
  const PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId last = b.relu("last", b.conv("behind", sum, 16, 3));
  const FusedGraph fused = optimize(b.finish({b.conv("out", b.add("pool", pool, {last}), 8, 3, 1, 1)}), {}).value();
  EXPECT_EQ(check_each_chain(fused),
            (std::set<std::string>{"chain: wide+deep", "chain: deep+sum", "chain: wide+deep+sum", "chain: last+pool"}));
}

/// A picture that the first convolution turns, padded windows behind padded ones, and pools that products read.
TEST(PlansWithCovers, OfTheBeginningOfANetworkHaveTheAnswersOfTheUsualOnes) {
  GraphBuilder b;
  const ValueId first = b.relu("first", b.conv("c1", b.input("in", {1, 3, 16, 16}), 16, 3, 2, 1));
  const ValueId deep = b.relu("deep", b.conv("c2", first, 16, 3, 1, 1, 16));
  const ValueId thin = b.relu("thin", b.conv("c3", deep, 8, 1));
  const ValueId wide = b.relu("wide", b.conv("c4", thin, 24, 3, 1, 1));
  const PoolOperator pool{PoolKind::average, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId pooled = b.add("pool", pool, {wide});
  const FusedGraph fused = optimize(b.finish({b.relu("out", b.conv("c5", pooled, 8, 1))}), {}).value();
  EXPECT_EQ(check_each_chain(fused),
            (std::set<std::string>{"chain: first+deep", "chain: deep+thin", "chain: first+deep+thin",
                                   "chain: wide+pool", "chain: pool+out_turned", "chain: wide+pool+out_turned"}));
}

/// A depthwise convolution with neither bias nor activation behind it, as blazeface has.
TEST(PlansWithCovers, OfBareConvolutionsHaveTheAnswersOfTheUsualOnes) {
  GraphBuilder b;
  const ValueId x = b.relu("x", b.conv("first", b.input("in", {1, 3, 6, 6}), 16, 1));
  const ConvOperator deep{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 16, Layout::channels_first};
  const ConvOperator single{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_first};
  const ValueId d = b.add("deep", deep, {x, b.constant("wd", {16, 1, 3, 3})});
  const ValueId p = b.relu("p", b.add("single", single, {d, b.constant("wp", {8, 16, 1, 1})}));
  const FusedGraph fused = optimize(b.finish({b.conv("out", p, 8, 3, 1, 1)}), {}).value();
  int covers = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) covers += check_random_plan(fused, {}, seed);
  EXPECT_GE(covers, 1);
}

TEST(PlansWithCovers, OfRandomGraphsHaveTheAnswersOfTheUsualOnes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    check_random_plan(optimize(testing::random_graph(seed), {}).value(), {}, seed);
}

/// Two covers of which each reads what the other one writes: one of them at the most can be chosen.
TEST(PlansWithCovers, HaveNoCircles) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 4});
  const ValueId a = b.unary("a", UnaryKind::tanh, x), c = b.unary("c", UnaryKind::exp, x);
  const ValueId behind_a = b.add("ma", MatMulOperator{}, {a, b.constant("wa", {4, 4})});
  const ValueId behind_c = b.add("mc", MatMulOperator{}, {c, b.constant("wc", {4, 4})});
  const FusedGraph fused = optimize(b.finish({behind_a, behind_c}), {}).value();
  Alternatives found = find_alternatives(fused, target(), {}).value();
  ASSERT_EQ(found.all.size(), 4u);
  const auto writer = [&](const std::string& name) {
    const auto made = std::find_if(found.all.begin(), found.all.end(), [&](const Alternative& one) {
      return fused.graph.value(one.fragment.writes.front().value).name == name;
    });
    return *made;
  };
  // {a, mc} and {c, ma} crosswise.
  for (const auto& [first, second] : {std::pair("a", "mc"), std::pair("c", "ma")}) {
    Alternative crosswise = writer(first), other = writer(second);
    crosswise.kind = AlternativeKind::cover;
    crosswise.name = std::string("merged: ") + first + "+" + second;
    crosswise.instead = {crosswise.group, other.group};
    crosswise.fragment.reads.insert(crosswise.fragment.reads.end(), other.fragment.reads.begin(),
                                    other.fragment.reads.end());
    crosswise.fragment.writes.push_back(other.fragment.writes.front());
    found.all.push_back(std::move(crosswise));
  }
  std::vector<Price> prices(found.all.size(), {PriceKind::measured, 10e-6, 10e-6});
  prices[4].seconds = prices[5].seconds = 1e-6;
  const auto plans = best_plans(fused, found, prices);
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  const std::vector<int>& best = plans->best.front().alternatives;
  const bool both = std::count(best.begin(), best.end(), 4) + std::count(best.begin(), best.end(), 5) == 2;
  // Both are cheaper than all else, but one has to find its input: the other's first result is computed twice.
  EXPECT_EQ(best.size(), 3u);
  EXPECT_TRUE(both);
  EXPECT_NEAR(plans->best.front().seconds, 12e-6, 1e-12);
  EXPECT_GE(plans->cuts, 0);
  std::vector<bool> there(fused.graph.values.size());
  for (ValueId id : fused.graph.inputs) there[id.index()] = true;
  for (int number : best) {
    for (const StoredValue& v : found.all[static_cast<std::size_t>(number)].fragment.reads)
      EXPECT_TRUE(there[v.value.index()]);
    for (const StoredValue& v : found.all[static_cast<std::size_t>(number)].fragment.writes)
      there[v.value.index()] = true;
  }
}

}  // namespace cover_plan_test
}  // namespace whet
