#include "report/gather.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "plan/plan.h"
#include "records/testing/sample.h"
#include "schedule/steps.h"

namespace whet {
namespace gather_test {

using testing::GraphBuilder;
using testing_records::failed;
using testing_records::timed;

constexpr const char* kTarget = "cpu -mcpu=haswell -threads=2";

/// `groups` of the second convolution: 16 make a chain of it and of the third, which reads one pixel at a time.
FusedGraph network(std::int64_t groups = 1) {
  GraphBuilder b;
  const ValueId first = b.relu("r1", b.conv("c1", b.input("x", {1, 8, 6, 6}), 16, 3, 1, 1));
  ValueId last = b.relu("r2", b.conv("c2", first, 16, 3, 1, 1, groups));
  if (groups > 1) last = b.conv("out", b.relu("r3", b.conv("c3", last, 8, 1)), 8, 3, 1, 1);
  return optimize(b.finish({last}), {}).value();
}

struct Gathered {
  FusedGraph fused = network();
  Target target = *parse_target(kTarget);
  std::vector<Task> tasks = extract_tasks(fused, target).value();

  std::string default_text(std::size_t task) const { return to_text(*default_steps(tasks[task].dag, target)); }
  ReportData of(const Records& records) const {
    ReportSources sources;
    sources.fused = &fused, sources.tasks = &tasks, sources.target = &target, sources.records = &records;
    Result<ReportData> data = gather_report(sources);
    EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().message);
    return data.ok() ? *data : ReportData();
  }
  Record trial(std::size_t task, const std::string& steps, double seconds, const char* at) const {
    Record record = timed(tasks[task].key, steps, seconds, kTarget);
    record.at = at;
    return record;
  }
};

TEST(GatherReport, TakesTimesOfTheDefaultAndTheBestSchedule) {
  const Gathered g;
  Records records;
  records.add(g.trial(0, g.default_text(0), 2e-3, "2026-11-21T10:00:00Z"));
  records.add(g.trial(0, "split l1 2", 1e-3, "2026-11-21T10:00:05Z"));
  const ReportData data = g.of(records);
  ASSERT_EQ(data.tasks.size(), g.tasks.size());
  EXPECT_DOUBLE_EQ(data.tasks[0].default_seconds, 2e-3);
  EXPECT_DOUBLE_EQ(data.tasks[0].best_seconds, 1e-3);
  EXPECT_EQ(data.tasks[0].trials.size(), 2u);
  EXPECT_DOUBLE_EQ(data.tasks[0].trials[1].at, 5);
  EXPECT_EQ(data.trials, 2);
}

TEST(GatherReport, GivesAllTimesAtThePaceOfTheBest) {
  const Gathered g;
  Records records;
  records.add(g.trial(0, g.default_text(0), 2e-3, "2026-11-21T10:00:00Z"));
  Record best = g.trial(0, "split l1 2", 1.5e-3, "2026-11-21T10:00:05Z");
  best.outcome.pace = 1.5;  // the machine was so much slower
  records.add(best);
  const ReportData data = g.of(records);
  EXPECT_DOUBLE_EQ(data.tasks[0].best_seconds, 1.5e-3);
  EXPECT_DOUBLE_EQ(data.tasks[0].default_seconds, 3e-3);
  EXPECT_DOUBLE_EQ(data.tasks[0].trials[0].seconds, 3e-3);
}

TEST(GatherReport, LeavesPausesBetweenRunsOut) {
  const Gathered g;
  Records records;
  records.add(g.trial(0, "split l1 2", 2e-3, "2026-11-21T10:00:00Z"));
  records.add(g.trial(0, "split l1 3", 2e-3, "2026-11-22T23:59:59Z"));
  records.add(g.trial(0, "split l1 4", 2e-3, "2026-11-23T00:00:09Z"));
  const ReportData data = g.of(records);
  EXPECT_DOUBLE_EQ(data.tasks[0].trials[2].at - data.tasks[0].trials[1].at, 10);
  EXPECT_LT(data.tuned_for_seconds, 60);
}

TEST(GatherReport, LooksAtRecordsOfTheTargetAlone) {
  const Gathered g;
  Records records;
  records.add(g.trial(0, "split l1 2", 2e-3, "2026-11-21T10:00:00Z"));
  records.add(timed(g.tasks[0].key, "split l1 2", 1e-6, "cpu -mcpu=znver5 -threads=2"));
  const ReportData data = g.of(records);
  EXPECT_DOUBLE_EQ(data.tasks[0].best_seconds, 2e-3);
  EXPECT_EQ(data.tasks[0].trials.size(), 1u);
}

TEST(GatherReport, CountsAScheduleThatWasMeasuredAgainOnce) {
  const Gathered g;
  Records records;
  for (double ms : {2.0, 1.9}) records.add(g.trial(0, "split l1 2", ms * 1e-3, "2026-11-21T10:00:00Z"));
  Record crash = failed(g.tasks[0].key, "split l1 3", OutcomeCode::crash, "signal 11");
  crash.target = kTarget;
  records.add(crash);
  const ReportData data = g.of(records);
  EXPECT_EQ(data.tasks[0].trials.size(), 2u);
  ASSERT_EQ(data.failures.size(), 1u);
  EXPECT_EQ(data.failures[0].message, "signal 11");
}

TEST(GatherReport, DrawsThePlanOfTheRecords) {
  const Gathered g;
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {forms_for(g.target)}).value();
  const auto other = std::find_if(alternatives.all.begin(), alternatives.all.end(), [](const Alternative& a) {
    return a.kind == AlternativeKind::layout && a.name == "nhwc -> nchw8c";
  });
  ASSERT_NE(other, alternatives.all.end());
  const std::string& node = g.fused.graph.value(other->fragment.writes.front().value).name;
  Plan plan;
  plan.graph = hash_of(g.fused), plan.target = kTarget, plan.at = "2026-11-21T10:00:00Z";
  plan.kernels = {{node, "nhwc -> nchw8c", false}, {node, "nchw8c -> nhwc", true}};
  Records records;
  records.add(plan);
  const ReportLayouts layouts = g.of(records).layouts;
  EXPECT_TRUE(layouts.differs);
  const auto copies = std::count_if(layouts.chosen.kernels.begin(), layouts.chosen.kernels.end(),
                                    [](const ReportKernel& kernel) { return kernel.copy; });
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(layouts.chosen.kernels.size(), layouts.usual.kernels.size() + 1);
}

TEST(GatherReport, HasThePrecisionOfEachLayer) {
  Gathered g;
  g.target = *parse_target("cpu -mcpu=znver4 -threads=2");
  g.tasks = extract_tasks(g.fused, g.target).value();
  const std::string target = to_string(g.target);
  const Alternatives alternatives =
      find_alternatives(g.fused, g.target, {.covers = false, .lowered = {StoredAs::bf16}}).value();
  const auto lowered = std::ranges::find_if(
      alternatives.all, [](const Alternative& a) { return a.rounds_product && a.name == "bf16 -> nhwc"; });
  ASSERT_NE(lowered, alternatives.all.end());
  const std::string& node = g.fused.graph.value(lowered->fragment.writes.front().value).name;
  const std::string& read = g.fused.graph.value(lowered->fragment.reads.front().value).name;
  Records records;
  EXPECT_TRUE(g.of(records).precision.layers.empty());
  LayerError error{.graph = hash_of(g.fused), .weights = hash_of_constants(g.fused), .samples = "s", .node = node};
  error.error = error.worst = 4e-3, error.target = target;
  records.add(error);
  EXPECT_FALSE(g.of(records).precision.adopted);
  Plan plan;
  plan.graph = hash_of(g.fused), plan.target = target, plan.at = "2026-11-21T10:00:00Z";
  plan.kernels = {{read, "nhwc -> bf16", true}, {node, "bf16 -> nhwc", false}};
  plan.precision = PlanPrecision{.samples = "s", .weights = hash_of_constants(g.fused), .allowed = {"1%"}};
  plan.precision->budget = 64e-6;
  records.add(plan);
  const ReportPrecision found = g.of(records).precision;
  EXPECT_TRUE(found.adopted) << found.note;
  const auto layer = std::ranges::find(found.layers, node, &LayerPrecision::node);
  ASSERT_NE(layer, found.layers.end());
  EXPECT_EQ(layer->is, "bf16 -> nhwc");
  EXPECT_NEAR(layer->share, 0.25, 1e-9);
}

TEST(GatherReport, DrawsAPlanWithGroupsAsOneKernel) {
  const Gathered g{.fused = network(16)};
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {}).value();
  const auto chain = std::ranges::max_element(
      alternatives.all, std::less(), [](const Alternative& a) { return names_chain(a.name) ? a.instead.size() : 0; });
  ASSERT_TRUE(names_chain(chain->name));
  Plan plan;
  plan.graph = hash_of(g.fused), plan.target = kTarget, plan.at = "2026-11-21T10:00:00Z";
  plan.kernels = {{g.fused.graph.value(chain->fragment.writes.front().value).name, chain->name, false}};
  Records records;
  records.add(plan);
  const ReportLayouts layouts = g.of(records).layouts;
  EXPECT_EQ(layouts.chosen.kernels.size() + chain->instead.size(), layouts.usual.kernels.size() + 1);
  const auto drawn =
      std::ranges::find_if(layouts.chosen.kernels, [](const ReportKernel& kernel) { return !kernel.cover.empty(); });
  ASSERT_NE(drawn, layouts.chosen.kernels.end());
  EXPECT_EQ(drawn->cover, "chain");
  EXPECT_EQ(drawn->instead, std::ssize(chain->instead));
  EXPECT_EQ(drawn->from, "nhwc");
}

TEST(GatherReport, ComparesAKernelWithAllThatItStandsFor) {
  const Gathered g{.fused = network(16)};
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {}).value();
  const auto chain = std::ranges::max_element(
      alternatives.all, std::less(), [](const Alternative& a) { return names_chain(a.name) ? a.instead.size() : 0; });
  Plan plan;
  plan.graph = hash_of(g.fused), plan.target = kTarget, plan.at = "2026-11-21T10:00:00Z";
  plan.kernels = {{g.fused.graph.value(chain->fragment.writes.front().value).name, chain->name, false}};
  plan.excess = {.seconds_a_kernel = 5e-6};
  Records records;
  records.add(plan);
  for (const Task& task : alternatives.tasks) records.add(timed(task.key, "", 2e-6, kTarget));
  records.add(timed(alternatives.tasks[static_cast<std::size_t>(chain->task)].key, "", 3e-6, kTarget));
  const ReportLayouts layouts = g.of(records).layouts;
  const auto count = static_cast<double>(chain->instead.size());
  ASSERT_GE(count, 2);
  const auto drawn =
      std::ranges::find_if(layouts.chosen.kernels, [](const ReportKernel& kernel) { return !kernel.cover.empty(); });
  ASSERT_NE(drawn, layouts.chosen.kernels.end());
  EXPECT_NEAR(drawn->seconds - drawn->excess, 3e-6, 1e-12) << "as it was measured";
  EXPECT_NEAR(drawn->usual_seconds - drawn->usual_excess, count * 2e-6, 1e-12);
  EXPECT_NEAR(drawn->usual_excess, count * 5e-6, 1e-12);
  for (const ReportKernel& kernel : layouts.usual.kernels) EXPECT_DOUBLE_EQ(kernel.seconds, kernel.usual_seconds);
  EXPECT_NEAR(layouts.covers.front().usual_seconds, count * 2e-6, 1e-12) << "of the kernels alone";
}

TEST(GatherReport, ComparesNothingWithAKernelThatNobodyMeasured) {
  const Gathered g{.fused = network(16)};
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {}).value();
  const auto chain = std::ranges::find_if(alternatives.all, [](const Alternative& a) { return names_chain(a.name); });
  Records records;
  records.add(timed(alternatives.tasks[static_cast<std::size_t>(chain->task)].key, "", 3e-6, kTarget));
  EXPECT_TRUE(g.of(records).layouts.covers.empty());
}

/// A chain keeps activations to itself, so that less is laid on it.
TEST(GatherReport, PricesKernelsAsThePlanWasChosen) {
  const Gathered g{.fused = network(16)};
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {}).value();
  const auto chain = std::ranges::max_element(
      alternatives.all, std::less(), [](const Alternative& a) { return names_chain(a.name) ? a.instead.size() : 0; });
  ASSERT_TRUE(names_chain(chain->name));
  Plan plan;
  plan.graph = hash_of(g.fused), plan.target = kTarget, plan.at = "2026-11-21T10:00:00Z";
  plan.kernels = {{g.fused.graph.value(chain->fragment.writes.front().value).name, chain->name, false}};
  const auto layouts_with = [&](double seconds_a_byte) {
    plan.excess = {.seconds_a_byte = seconds_a_byte};
    Records records;
    records.add(plan);
    return g.of(records).layouts;
  };
  const ReportLayouts alone = layouts_with(0), laid = layouts_with(1e-9);
  double bytes = 0;
  for (const Task& task : g.tasks) bytes += task.weight * static_cast<double>(activation_bytes(task));
  EXPECT_NEAR(laid.usual.seconds - alone.usual.seconds, 1e-9 * bytes, 1e-12);
  EXPECT_GT(laid.chosen.seconds, alone.chosen.seconds);
  EXPECT_LT(laid.chosen.seconds - alone.chosen.seconds, laid.usual.seconds - alone.usual.seconds);
}

TEST(GatherReport, ListsCoversThatWereMeasuredAlsoWithoutAPlan) {
  const Gathered g{.fused = network(16)};
  const Alternatives alternatives = find_alternatives(g.fused, g.target, {}).value();
  const auto chain = std::ranges::max_element(
      alternatives.all, std::less(), [](const Alternative& a) { return names_chain(a.name) ? a.instead.size() : 0; });
  ASSERT_TRUE(names_chain(chain->name));
  Records records;
  for (const Task& task : alternatives.tasks) records.add(timed(task.key, "", 2e-6, kTarget));
  records.add(timed(alternatives.tasks[static_cast<std::size_t>(chain->task)].key, "split l1 2", 1e-6, kTarget));
  const ReportLayouts layouts = g.of(records).layouts;
  ASSERT_FALSE(layouts.covers.empty());
  const ReportCover& best = layouts.covers.front();
  EXPECT_EQ(best.kind, "chain");
  EXPECT_EQ(std::ssize(best.kernels), std::ssize(chain->instead));
  EXPECT_DOUBLE_EQ(best.seconds, 1e-6);
  EXPECT_DOUBLE_EQ(best.usual_seconds, 2e-6 * static_cast<double>(best.kernels.size()));
  EXPECT_FALSE(best.chosen);
  EXPECT_TRUE(g.of({}).layouts.covers.empty()) << "nothing was measured";
}

TEST(SecondsOfUtc, ReadsTimesAndNothingElse) {
  EXPECT_DOUBLE_EQ(seconds_of_utc("1970-01-01T00:00:00Z").value(), 0);
  EXPECT_DOUBLE_EQ(seconds_of_utc("2000-03-01T00:00:01Z").value(), 951868801);
  EXPECT_DOUBLE_EQ(seconds_of_utc("2026-11-26T04:55:10Z").value(), 1795668910);
  for (const char* text : {"", "2026-11-26", "2026-11-26T04:55:10+1", "20x6-11-26T04:55:10Z"})
    EXPECT_FALSE(seconds_of_utc(text)) << text;
}

}  // namespace gather_test
}  // namespace whet
