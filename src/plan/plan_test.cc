#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/hash.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_graph.h"
#include "records/testing/sample.h"
#include "task/testing/evaluate_groups.h"
#include "tensor/compare.h"

namespace whet {
namespace plan_test {

using testing::GraphBuilder;

const std::vector<ActivationLayout> kForms = {{4}, {8}};

Target target() { return *parse_target("cpu -mcpu=haswell -threads=2"); }

/// Three convolutions in a row; the middle one's result is read twice.
FusedGraph network() {
  GraphBuilder b;
  const ValueId first = b.relu("r1", b.conv("c1", b.relu("r0", b.input("x", {1, 8, 6, 6})), 16, 3, 1, 1));
  const ValueId second = b.relu("r2", b.conv("c2", first, 16, 3, 1, 1));
  const ValueId third = b.relu("r3", b.conv("c3", second, 16, 3, 1, 1));
  return optimize(b.finish({b.relu("r4", b.plus("sum", third, second))}), {}).value();
}

struct Case {
  FusedGraph fused = network();
  Alternatives alternatives = find_alternatives(fused, target(), {kForms}).value();

  /// All kernels at 10 us and transforms at 1 us, but where `change` says otherwise.
  std::vector<Price> prices(const std::function<void(const Alternative&, Price&)>& change) const {
    std::vector<Price> prices;
    for (const Alternative& a : alternatives.all) {
      Price price{PriceKind::measured, 10e-6, 10e-6};
      if (a.kind == AlternativeKind::transform) price.seconds = price.bound = 1e-6;
      if (a.task < 0) price = {};
      change(a, price);
      prices.push_back(price);
    }
    return prices;
  }
  NetworkPlans plans(const std::vector<Price>& prices, const PlanOptions& options = {}) const {
    Result<NetworkPlans> found = best_plans(fused, alternatives, prices, options);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found.ok() ? *found : NetworkPlans();
  }
  std::string text(const NetworkPlan& plan) const {
    std::string all;
    for (const PlannedKernel& kernel : kernels_of(fused, alternatives, plan))
      all += (kernel.transform ? "copy " : "") + kernel.node + " " + kernel.forms + "; ";
    return all;
  }
};

void make(Price& price, double microseconds) { price.seconds = price.bound = microseconds * 1e-6; }

TEST(BestPlan, IsTheUsualOneWhereNothingIsGained) {
  const Case c;
  const NetworkPlans plans = c.plans(c.prices([](const Alternative&, Price&) {}));
  EXPECT_EQ(c.text(plans.best.front()), "");
  EXPECT_NEAR(plans.best.front().seconds, plans.usual.seconds, 1e-12);
  EXPECT_TRUE(plans.optimal);
}

TEST(BestPlan, PaysATransformOnceForAllThatReadIt) {
  const Case c;
  // The second convolution is dearer to begin than its fast form with a copy on either side.
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.name == "nchw8c") make(price, a.kind == AlternativeKind::layout ? 4 : 1);
    if (a.name.find("->") != std::string::npos && a.kind == AlternativeKind::layout) make(price, 100);
  });
  const NetworkPlans plans = c.plans(prices);
  const std::string text = c.text(plans.best.front());
  std::set<std::string> copies;
  for (const PlannedKernel& kernel : kernels_of(c.fused, c.alternatives, plans.best.front())) {
    if (!kernel.transform) continue;
    EXPECT_TRUE(copies.insert(kernel.node + kernel.forms).second) << text;
  }
  EXPECT_LT(plans.best.front().seconds, plans.usual.seconds);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'y'), std::ssize(copies)) << text;
}

TEST(BestPlan, WithAForcedFormIsNoShorter) {
  const Case c;
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::layout) make(price, a.name == "nchw4c" ? 9 : 11);
  });
  const NetworkPlans free = c.plans(prices);
  for (std::size_t a = 0; a < c.alternatives.all.size(); ++a) {
    const NetworkPlans forced = c.plans(prices, {.required = {static_cast<int>(a)}});
    ASSERT_FALSE(forced.best.empty());
    EXPECT_GE(forced.best.front().seconds, free.best.front().seconds - 1e-12);
    const auto& plan = forced.best.front().alternatives;
    EXPECT_NE(std::find(plan.begin(), plan.end(), static_cast<int>(a)), plan.end());
  }
}

/// Two convolutions side by side, whose results are written where they belong in a concatenation.
FusedGraph concatenation(std::int64_t size) {
  GraphBuilder b;
  const ValueId x = b.relu("r0", b.input("x", {1, 16, size, size}));
  const ValueId left = b.relu("r1", b.conv("c1", x, 16, 3, 1, 1)), right = b.relu("r2", b.conv("c2", x, 16, 1));
  const ValueId both = b.add("cat", ConcatOperator{1}, {left, right});
  return optimize(b.finish({b.relu("r3", b.conv("c3", both, 16, 1))}), {}).value();
}

/// What a network costs by the price of each of its kernels.
double seconds_of(const FusedGraph& fused, const std::function<double(const Task&)>& price) {
  double seconds = 0;
  const std::vector<Task> tasks = extract_tasks(fused, target()).value();
  for (const Task& task : tasks) seconds += task.weight * price(task);
  return seconds;
}

bool computes_twice(const Alternatives& alternatives, const NetworkPlan& plan) {
  std::set<int> groups;
  for (int a : plan.alternatives)
    if (const int group = alternatives.all[static_cast<std::size_t>(a)].group;
        group >= 0 && !groups.insert(group).second)
      return true;
  return false;
}

TEST(BestPlan, CostsNoLessThanItsNetworkRuns) {
  for (std::int64_t size : {8, 7}) {  // blocks of 7x7 pixels begin on no cache line
    Case c{concatenation(size)};
    const auto price_of = [](const Task& task) { return 1e-6 * (1 + static_cast<double>(hash_bytes(task.key) % 64)); };
    const auto prices = c.prices([&](const Alternative& a, Price& price) {
      if (a.task < 0) return;
      price.seconds = price.bound = price_of(c.alternatives.tasks[static_cast<std::size_t>(a.task)]);
    });
    EXPECT_NEAR(c.plans(prices).usual.seconds, seconds_of(c.fused, price_of), 1e-12);
    for (std::size_t a = 0; a < c.alternatives.all.size(); ++a) {
      if (c.alternatives.all[a].kind == AlternativeKind::transform)
        continue;  // nobody reads a copy that is made for nothing
      const NetworkPlan plan = c.plans(prices, {.required = {static_cast<int>(a)}}).best.front();
      if (computes_twice(c.alternatives, plan)) continue;  // what was asked for is read by nobody
      const auto network = assemble(c.fused, c.alternatives, plan.alternatives);
      ASSERT_TRUE(network.ok()) << network.error().message;
      const double runs = seconds_of(*network, price_of);
      // A copy that was asked for is none where the concatenation is in place after all.
      const bool can_be_less = c.text(plan).find("cat") != std::string::npos;
      EXPECT_GE(plan.seconds, runs - 1e-12) << c.text(plan);
      EXPECT_TRUE(can_be_less || plan.seconds <= runs + 1e-12) << c.text(plan);
    }
  }
}

TEST(BestPlan, OfBoundsIsNoLongerThanThatOfPrices) {
  const Case c;
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::layout) price.bound = 5e-6;
  });
  EXPECT_LT(c.plans(prices, {.bounds = true}).best.front().seconds, c.plans(prices).best.front().seconds);
}

TEST(Plan, IsFoundAgainByItsNames) {
  const Case c;
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::layout) make(price, a.name == "nhwc -> nchw4c" ? 2 : 8);
  });
  const NetworkPlan plan = c.plans(prices).best.front();
  const std::vector<PlannedKernel> kernels = kernels_of(c.fused, c.alternatives, plan);
  ASSERT_FALSE(kernels.empty());
  const Alternatives again = find_alternatives(c.fused, target(), {*forms_of(kernels)}).value();
  const auto found = find_plan(c.fused, again, kernels);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(kernels_of(c.fused, again, *found), kernels);
}

/// Blocks that pad more than is offered without being asked for are in the plan by name.
TEST(Plan, WithPaddedBlocksIsFoundAgainByItsNames) {
  GraphBuilder b;
  const ValueId first = b.relu("r1", b.conv("c1", b.input("x", {1, 8, 6, 6}), 20, 3, 1, 1));
  const FusedGraph fused = optimize(b.finish({b.relu("r2", b.conv("c2", first, 20, 3, 1, 1))}), {}).value();
  const Alternatives all = find_alternatives(fused, target(), {{{16}}, true, {{16}}}).value();
  std::vector<Price> prices;
  for (const Alternative& a : all.all)
    prices.push_back({PriceKind::measured, pads(fused, a) ? 1e-6 : 9e-6, pads(fused, a) ? 1e-6 : 9e-6});
  const NetworkPlan plan = best_plans(fused, all, prices).value().best.front();
  Plan line{.graph = hash_of(fused), .target = to_string(target()), .kernels = kernels_of(fused, all, plan)};
  ASSERT_FALSE(line.kernels.empty());
  Records records;
  records.add(line);
  const auto network = planned(fused, records, target());
  ASSERT_TRUE(network.ok()) << network.error().message;
  EXPECT_EQ(network->note, "");
  EXPECT_EQ(network->kernels, line.kernels);
}

TEST(Plan, OfARecordFileGivesTheSameAnswers) {
  const Case c;
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::layout) make(price, 3);
  });
  Plan line{.graph = hash_of(c.fused), .target = to_string(target())};
  line.kernels = kernels_of(c.fused, c.alternatives, c.plans(prices).best.front());
  ASSERT_FALSE(line.kernels.empty());
  Records records;
  records.add(line);
  const auto network = planned(c.fused, records, target());
  ASSERT_TRUE(network.ok()) << network.error().message;
  EXPECT_EQ(network->note, "");
  ASSERT_NE(network->line, nullptr);
  const std::vector<Tensor> inputs = testing::random_inputs(c.fused.graph, 3);
  const auto want = testing::evaluate_groups(c.fused, inputs), got = testing::evaluate_groups(network->fused, inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(compare(got->front(), want->front(), 1e-4).mismatches, 0);
}

TEST(Plan, ThatTheNetworkDoesNotHaveIsVoid) {
  const Case c;
  const auto note = [&](PlannedKernel kernel) {
    Plan line{.graph = hash_of(c.fused), .target = to_string(target()), .kernels = {std::move(kernel)}};
    Records records;
    records.add(line);
    const auto network = planned(c.fused, records, target());
    EXPECT_EQ(network->line, nullptr);
    EXPECT_EQ(to_text(network->fused), to_text(c.fused));
    return network->note;
  };
  EXPECT_EQ(note({"nothing", "nchw8c"}),
            "the records' plan does not count: the plan computes nothing as nchw8c, which this network does not have");
  EXPECT_EQ(note({"r1", "upside down"}),
            "the records' plan does not count: the plan stores r1 as \"upside down\", which is no form");
  // A plan that leaves a form out that others read.
  EXPECT_EQ(note({"r2", "nchw8c"}).find("the records' plan does not count: the plan has no kernel that can run before"),
            0u);
}

TEST(Plan, OfAnotherTargetDoesNotCount) {
  const Case c;
  Records records;
  records.add(Plan{.graph = hash_of(c.fused), .target = "cpu -mcpu=haswell -threads=1"});
  EXPECT_EQ(planned(c.fused, records, target())->line, nullptr);
}

/// Records of the usual kernels at 10 us each, and of those that work on nchw8c alone at `blocked`.
Records measured(const Case& c, double blocked, bool all_usual = true) {
  std::set<int> tasks;
  Records records;
  for (std::size_t a = 0; a < c.alternatives.all.size(); ++a) {
    const Alternative& alternative = c.alternatives.all[a];
    const bool usual = a < c.alternatives.usual;
    const bool blocks = alternative.name == "nchw8c" || (alternative.kind == AlternativeKind::transform &&
                                                         alternative.name.find("nchw4c") == std::string::npos);
    if (alternative.task < 0 || (!usual && !blocks) || !tasks.insert(alternative.task).second) continue;
    if (!all_usual && a == 2) continue;
    const Task& task = c.alternatives.tasks[static_cast<std::size_t>(alternative.task)];
    const double seconds = usual ? 10e-6 : alternative.kind == AlternativeKind::transform ? 0.1e-6 : blocked;
    const std::string steps = to_text(*default_steps(task.dag, target()));
    records.add(testing_records::timed(task.key, steps, seconds, to_string(target())));
  }
  return records;
}

TEST(Plan, IsSolvedAgainWhereTheRecordsHaveNone) {
  const Case c{network(), find_alternatives(network(), target(), {forms_for(target())}).value()};
  const auto solved = planned(c.fused, measured(c, 7e-6), target());
  ASSERT_TRUE(solved.ok()) << solved.error().message;
  EXPECT_FALSE(solved->kernels.empty());
  EXPECT_LT(solved->seconds, kFasterUnconfirmedPlan * solved->usual_seconds);
  EXPECT_EQ(solved->line, nullptr);
  const std::vector<Tensor> inputs = testing::random_inputs(c.fused.graph, 3);
  const auto want = testing::evaluate_groups(c.fused, inputs), got = testing::evaluate_groups(solved->fused, inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(compare(got->front(), want->front(), 1e-4).mismatches, 0);
}

TEST(Plan, ThatIsSolvedAgainIsClearlyShorterAndMeasuredWhole) {
  const Case c{network(), find_alternatives(network(), target(), {forms_for(target())}).value()};
  EXPECT_TRUE(planned(c.fused, measured(c, 9.95e-6), target())->kernels.empty());
  EXPECT_TRUE(planned(c.fused, measured(c, 7e-6, false), target())->kernels.empty());
}

/// The network confirms no sum here: what would be enough in the network is not enough.
TEST(Plan, ThatIsSolvedAgainIsNotTakenForWhatNoiseWouldGive) {
  const Case c{network(), find_alternatives(network(), target(), {forms_for(target())}).value()};
  const Records records = measured(c, 9.5e-6);
  auto prices = prices_of(c.alternatives, records, target(), {});
  for (Price& price : prices)
    if (price.kind == PriceKind::estimated) price.seconds = 1;
  const NetworkPlans plans = c.plans(prices);
  const double ratio = plans.best.front().seconds / plans.usual.seconds;
  EXPECT_GT(ratio, kFasterUnconfirmedPlan);
  EXPECT_LT(ratio, kFasterPlan);
  EXPECT_TRUE(planned(c.fused, records, target())->kernels.empty());
}

TEST(Plan, OfTheRecordsCountsBeforeASum) {
  const Case c{network(), find_alternatives(network(), target(), {forms_for(target())}).value()};
  Records records = measured(c, 7e-6);
  records.add(Plan{.graph = hash_of(c.fused), .target = to_string(target())});
  const auto network = planned(c.fused, records, target());
  EXPECT_TRUE(network->kernels.empty());
  EXPECT_NE(network->line, nullptr);
}

TEST(Prices, AreMeasuredOrHoped) {
  const Case c;
  const Task& usual = c.alternatives.tasks[static_cast<std::size_t>(c.alternatives.all[1].task)];
  const std::string steps = to_text(*default_steps(usual.dag, target()));
  Records records;
  records.add(testing_records::timed(usual.key, steps, 20e-6, to_string(target())));
  const std::vector<Price> prices =
      prices_of(c.alternatives, records, target(),
                {.hope = 0.5, .hope_of = {{"convolution nchw8c", 0.75}, {"pool nchw4c", 0.9}}});
  EXPECT_EQ(prices[1].kind, PriceKind::measured);
  EXPECT_EQ(prices[1].seconds, 20e-6);
  for (std::size_t a = c.alternatives.usual; a < c.alternatives.all.size(); ++a) {
    if (c.alternatives.all[a].group != c.alternatives.all[1].group) continue;
    EXPECT_EQ(prices[a].kind, PriceKind::estimated);
    EXPECT_DOUBLE_EQ(prices[a].seconds, 20e-6);
    EXPECT_DOUBLE_EQ(prices[a].bound, c.alternatives.all[a].name == "nchw8c" ? 15e-6 : 10e-6);
  }
}

/// A kernel that multiplies f32 and writes bytes takes as long as one that writes f32.
TEST(Prices, OfKernelsThatWriteFewerBitsAreHopedToSaveLittle) {
  Case c;
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=2");
  AlternativeOptions options{.covers = false, .lowered = {StoredAs::u8}};
  for (const Value& value : c.fused.graph.values) options.ranges[value.name] = {-1, 2};
  c.alternatives = find_alternatives(c.fused, znver4, options).value();
  const auto is_of_r2 = [&](const Alternative& a) {
    return c.fused.graph.value(a.fragment.writes.front().value).name == "r2" && a.kind != AlternativeKind::transform;
  };
  const auto usual = std::ranges::find_if(c.alternatives.all, is_of_r2);
  ASSERT_NE(usual, c.alternatives.all.end());
  const Task& task = c.alternatives.tasks[static_cast<std::size_t>(usual->task)];
  Records records;
  records.add(testing_records::timed(task.key, to_text(*default_steps(task.dag, znver4)), 20e-6, to_string(znver4)));
  const std::vector<Price> prices = prices_of(c.alternatives, records, znver4, {});
  std::map<std::string, double> bounds;
  for (std::size_t a = c.alternatives.usual; a < prices.size(); ++a)
    if (is_of_r2(c.alternatives.all[a])) bounds[c.alternatives.all[a].name] = prices[a].bound;
  EXPECT_DOUBLE_EQ(bounds.at("nhwc -> u8"), 0.9 * 20e-6);
  EXPECT_DOUBLE_EQ(bounds.at("u8"), 0.25 * 20e-6);
}

/// i16 has no tiles, and errs by less than bf16: at equal hopes no plan would be hoped to have bf16.
TEST(Prices, OfProductsByTilesAreHopedToSaveMore) {
  const auto bounds = [](const char* mcpu) {
    Case c;
    const Target target = *parse_target(std::string("cpu -threads=2 -mcpu=") + mcpu);
    AlternativeOptions options{.covers = false, .lowered = {StoredAs::bf16, StoredAs::i16}};
    for (const Value& value : c.fused.graph.values) options.ranges[value.name] = {-1, 2};
    c.alternatives = find_alternatives(c.fused, target, options).value();
    const std::vector<Price> prices = prices_of(c.alternatives, Records(), target, {});
    std::map<std::string, double> found;  // by the form of r2's kernels
    for (std::size_t a = 0; a < prices.size(); ++a)
      if (c.fused.graph.value(c.alternatives.all[a].fragment.writes.front().value).name == "r2" &&
          c.alternatives.all[a].kind != AlternativeKind::transform)
        found[c.alternatives.all[a].name] = prices[a].bound;
    return found;
  };
  const auto pairs = bounds("znver4"), tiles = bounds("sapphirerapids");
  EXPECT_DOUBLE_EQ(pairs.at("bf16"), pairs.at("i16"));
  EXPECT_LT(tiles.at("bf16"), 0.5 * tiles.at("i16"));
}

/// A group's kernels that multiply the same type differ in what they write: who knows one knows the others.
TEST(Prices, OfLoweredKernelsAreNearThoseOfTheirSiblings) {
  Case c;
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=2");
  AlternativeOptions options{.covers = false, .lowered = {StoredAs::i16, StoredAs::u8}};
  for (const Value& value : c.fused.graph.values) options.ranges[value.name] = {-1, 2};
  c.alternatives = find_alternatives(c.fused, znver4, options).value();
  const auto is_of_r2 = [&](const Alternative& a) {
    return a.rounds_product && c.fused.graph.value(a.fragment.writes.front().value).name == "r2";
  };
  const auto first = std::ranges::find_if(c.alternatives.all,
                                          [&](const Alternative& a) { return is_of_r2(a) && a.name == "i16 -> nhwc"; });
  ASSERT_NE(first, c.alternatives.all.end());
  const Task& task = c.alternatives.tasks[static_cast<std::size_t>(first->task)];
  Records records;
  records.add(testing_records::timed(task.key, to_text(*default_steps(task.dag, znver4)), 20e-6, to_string(znver4)));
  const std::vector<Price> prices = prices_of(c.alternatives, records, znver4, {});
  int siblings = 0;
  for (std::size_t a = 0; a < prices.size(); ++a) {
    if (!is_of_r2(c.alternatives.all[a]) || prices[a].kind == PriceKind::measured) continue;
    const bool same = c.alternatives.all[a].rounds_product == StoredAs::i16;
    siblings += same;
    EXPECT_EQ(prices[a].bound > 20e-6, same) << c.alternatives.all[a].name << " is not hoped to take less";
  }
  EXPECT_EQ(siblings, 2);
}

TEST(Prices, HaveWhatTheNetworkTakesLongerThanItsKernels) {
  GraphBuilder b;
  const ValueId wide =
      b.relu("b", b.conv("bc", b.relu("a", b.conv("ac", b.input("x", {1, 16, 8, 8}), 64, 1)), 64, 3, 1, 1, 64));
  Case c{optimize(b.finish({b.relu("out", b.conv("pc", wide, 8, 1))}), {}).value(), {}};
  c.alternatives = find_alternatives(c.fused, target(), {}).value();
  const std::vector<Price> alone = prices_of(c.alternatives, Records(), target(), {});
  const std::vector<Price> between =
      prices_of(c.alternatives, Records(), target(), {.excess = {.seconds_a_byte = 1e-9}});
  const std::vector<Price> each =
      prices_of(c.alternatives, Records(), target(), {.excess = {.seconds_a_kernel = 3e-6}});
  double most = 0, chain = 0;
  for (std::size_t a = 0; a < c.alternatives.all.size(); ++a) {
    const Alternative& alternative = c.alternatives.all[a];
    if (alternative.task < 0) continue;
    const double bytes =
        static_cast<double>(activation_bytes(c.alternatives.tasks[static_cast<std::size_t>(alternative.task)]));
    EXPECT_NEAR(between[a].seconds, alone[a].seconds + 1e-9 * bytes, 1e-15);
    EXPECT_NEAR(between[a].bound, alone[a].bound + 1e-9 * bytes, 1e-15);
    EXPECT_NEAR(each[a].seconds, alone[a].seconds + 3e-6, 1e-15);
    if (alternative.kind == AlternativeKind::usual) most = std::max(most, bytes);
    if (alternative.kind == AlternativeKind::cover && alternative.instead.size() == 3) chain = bytes;
  }
  EXPECT_EQ(most, 4 * 8 * 8 * (64 + 64)) << "weights are none of them";
  EXPECT_EQ(chain, 4 * 8 * 8 * (16 + 8)) << "what a kernel keeps to itself costs nothing";
}

TEST(Prices, OfAnOlderCodeGeneratorOrAnotherCacheModeAreNotMeasured) {
  const Case c;
  const Task& usual = c.alternatives.tasks[static_cast<std::size_t>(c.alternatives.all[1].task)];
  Record older =
      testing_records::timed(usual.key, to_text(*default_steps(usual.dag, target())), 20e-6, to_string(target()));
  --older.codegen;
  Records records;
  records.add(older);
  EXPECT_EQ(prices_of(c.alternatives, records, target(), {})[1].kind, PriceKind::estimated);
  EXPECT_EQ(prices_of(c.alternatives, records, target(), {})[1].seconds, 20e-6);
  ++older.codegen;
  older.outcome.cache = "warm";
  records.add(older);
  EXPECT_EQ(prices_of(c.alternatives, records, target(), {.cache = "network"})[1].kind, PriceKind::estimated);
  EXPECT_EQ(prices_of(c.alternatives, records, target(), {.cache = "warm"})[1].kind, PriceKind::measured);
}

TEST(Hope, IsOfOneKindOfKernel) {
  GraphBuilder b;
  const ValueId x = b.relu("r0", b.input("x", {1, 16, 8, 8}));
  const PoolOperator pool{PoolKind::max, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId deep = b.relu("r1", b.conv("depthwise", x, 16, 3, 1, 1, 16));
  const ValueId wide = b.relu("r2", b.conv("convolution", deep, 16, 3, 1, 1));
  const Case c{optimize(b.finish({b.add("pool", pool, {b.relu("r3", b.conv("product", wide, 16, 1))})}), {}).value()};
  std::set<std::string> names;
  for (const Alternative& a : c.alternatives.all)
    if (a.name == "nchw8c") names.insert(hope_name(a));
  EXPECT_EQ(names, (std::set<std::string>{"convolution nchw8c", "depthwise nchw8c", "pool nchw8c", "product nchw8c"}));
}

/// Each lowered kernel takes half of the usual one's time, and adds as much to the error as the next.
TEST(BestPlan, OfLoweredKernelsKeepsABudget) {
  Case c;
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=2");
  c.alternatives = find_alternatives(c.fused, znver4, {.covers = false, .lowered = {StoredAs::bf16}}).value();
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::lowered && a.task >= 0) make(price, a.rounds_product ? 5 : 10);
    if (a.kind == AlternativeKind::transform) make(price, 0.1);
  });
  PlanOptions options;
  for (const Alternative& a : c.alternatives.all) options.uses.push_back(a.rounds_product ? 1e-4 : 0);
  const auto products = [&](double budget) {
    options.budget = budget;
    const NetworkPlans plans = c.plans(prices, options);
    return std::ranges::count_if(plans.best.front().alternatives, [&](int a) {
      return c.alternatives.all[static_cast<std::size_t>(a)].rounds_product.has_value();
    });
  };
  EXPECT_EQ(products(0), 0);
  EXPECT_EQ(products(1.5e-4), 1);
  EXPECT_EQ(products(2.5e-4), 2);
  EXPECT_EQ(products(1), 3) << "all three convolutions";
}

/// What it takes, and adds to the error, to have a value in a form: every way of a network that is a chain.
using Ways = std::vector<std::pair<double, double>>;
Ways ways_to(const Case& c, const std::vector<Price>& prices, const std::vector<double>& uses, StoredValue wanted) {
  if (wanted.value == c.fused.graph.inputs.front() && wanted.form == kChannelsLast) return {{0, 0}};
  Ways all;
  for (std::size_t a = 0; a < c.alternatives.all.size(); ++a) {
    const Fragment& fragment = c.alternatives.all[a].fragment;
    if (fragment.writes.front() != wanted) continue;
    EXPECT_EQ(fragment.reads.size(), 1u) << "a chain";
    for (const auto& [seconds, error] : ways_to(c, prices, uses, fragment.reads.front()))
      all.emplace_back(seconds + prices[a].seconds, error + uses[a]);
  }
  return all;
}

TEST(BestPlan, OfI16AndBytesIsTheEnumeratedOne) {
  GraphBuilder b;
  const ValueId first = b.relu("r1", b.conv("c1", b.input("x", {1, 16, 6, 6}), 16, 3, 1, 1));
  Case c{optimize(b.finish({b.conv("c2", first, 16, 3, 1, 1)}), {}).value()};
  AlternativeOptions options{.covers = false, .lowered = {StoredAs::bf16, StoredAs::i16, StoredAs::u8}};
  for (const Value& value : c.fused.graph.values) options.ranges[value.name] = {-1, 2};
  c.alternatives = find_alternatives(c.fused, *parse_target("cpu -mcpu=znver4 -threads=2"), options).value();
  Rng rng(5);
  int lowered = 0, whole = 0;
  for (int i = 0; i < 40; ++i) {
    PlanOptions choosing;
    const auto prices = c.prices([&](const Alternative& a, Price& price) {
      const bool products = a.rounds_product.has_value();
      if (a.task >= 0)
        make(price, a.kind == AlternativeKind::transform ? rng.uniform(0, 3) : rng.uniform(products ? 2 : 8, 10));
      choosing.uses.push_back(products ? rng.uniform(0, 1) : 0);
    });
    choosing.budget = rng.uniform(0, 2);
    double least = 1;
    const StoredValue wanted{c.fused.graph.outputs.front(), kChannelsLast};
    for (const auto& [seconds, error] : ways_to(c, prices, choosing.uses, wanted))
      if (error <= choosing.budget) least = std::min(least, seconds);
    const NetworkPlan best = c.plans(prices, choosing).best.front();
    EXPECT_NEAR(best.seconds, least, 1e-9);
    for (const StoredAs stored : lowered_of(kernels_of(c.fused, c.alternatives, best)))
      ++lowered, whole += stored != StoredAs::bf16;
  }
  EXPECT_GT(whole, 5);
  EXPECT_GT(lowered, whole);
}

TEST(BestPlan, OfLoweredKernelsIsFoundAgainByItsNames) {
  Case c;
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=2");
  c.alternatives = find_alternatives(c.fused, znver4, {.covers = false, .lowered = {StoredAs::bf16}}).value();
  const auto prices = c.prices([](const Alternative& a, Price& price) {
    if (a.kind == AlternativeKind::lowered && a.task >= 0) make(price, 2);
  });
  const NetworkPlan best = c.plans(prices).best.front();
  const std::vector<PlannedKernel> kernels = kernels_of(c.fused, c.alternatives, best);
  EXPECT_EQ(lowered_of(kernels), std::vector<StoredAs>{StoredAs::bf16});
  EXPECT_TRUE(forms_of(kernels)->empty());
  const Result<NetworkPlan> found = find_plan(c.fused, c.alternatives, kernels);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(kernels_of(c.fused, c.alternatives, *found).size(), kernels.size());
  const FusedGraph lowered = assemble(c.fused, c.alternatives, found->alternatives).value();
  const std::vector<Tensor> inputs = testing::random_inputs(c.fused.graph, 1);
  const auto want = testing::evaluate_groups(c.fused, inputs), got = testing::evaluate_groups(lowered, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ(got->front().type(), want->front().type());
  const double error = relative_l2(got->front(), want->front());
  EXPECT_GT(error, 1e-5);
  EXPECT_LT(error, 2e-2);
}

}  // namespace plan_test
}  // namespace whet
