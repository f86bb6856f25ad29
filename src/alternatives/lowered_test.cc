#include "alternatives/lowered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "alternatives/alternatives.h"
#include "alternatives/probe.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_graph.h"
#include "task/testing/evaluate_groups.h"
#include "tensor/compare.h"

namespace whet {
namespace lowered_test {

using testing::GraphBuilder;

FusedGraph fused(Graph graph) { return optimize(std::move(graph), {}).value(); }

Alternatives lowered_of(const FusedGraph& graph) {
  const Target target = *parse_target("cpu -mcpu=znver4 -threads=2");
  return find_alternatives(graph, target, {.covers = false, .lowered = {StoredAs::bf16}}).value();
}

/// "add: bf16", a line each, of the alternatives that are not usual.
std::set<std::string> names_of(const FusedGraph& graph, const Alternatives& alternatives) {
  std::set<std::string> names;
  for (std::size_t a = alternatives.usual; a < alternatives.all.size(); ++a) {
    const Alternative& each = alternatives.all[a];
    const std::string value = graph.graph.value(each.fragment.writes.front().value).name;
    names.insert((each.kind == AlternativeKind::transform ? "copy of " : "") + value + ": " + each.name);
  }
  return names;
}

/// A convolution, a depthwise one, a residual, a pool and the mean of a picture.
Graph network() {
  GraphBuilder b;
  const ValueId first = b.relu("r1", b.conv("c1", b.input("x", {1, 3, 9, 9}), 16, 3, 2, 1));
  const ValueId deep = b.relu("r2", b.conv("c2", first, 16, 3, 1, 1, 16));
  const ValueId sum = b.relu("r3", b.plus("s", b.conv("c3", deep, 16, 1), first));
  const PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId last = b.conv("c4", b.add("p", pool, {sum}), 24, 3, 1, 1);
  return b.finish({b.add("m", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {last})});
}

TEST(Lowered, OffersWhatProcessorsMultiplyByPairs) {
  const FusedGraph graph = fused(network());
  const std::set<std::string> names = names_of(graph, lowered_of(graph));
  for (const char* name :
       {"r1: nhwc -> bf16", "r2: bf16", "r2: bf16 -> nhwc", "r3: bf16", "r3: nhwc -> bf16", "p: bf16",
        "p: nhwc -> bf16", "c4: bf16", "copy of r1: nhwc -> bf16", "copy of r3: nhwc -> bf16"})
    EXPECT_TRUE(names.contains(name)) << name;
  // Three channels are no pairs; what only copies numbers is never widened by a kernel of its own.
  for (const char* name : {"r1: bf16", "r1: bf16 -> nhwc", "p: bf16 -> nhwc", "copy of r1: bf16 -> nhwc"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(Lowered, IsNotOfferedUnasked) {
  const FusedGraph graph = fused(network());
  const Target target = *parse_target("cpu -mcpu=znver4 -threads=2");
  const Result<Alternatives> found = find_alternatives(graph, target, {.forms = forms_for(target)});
  ASSERT_TRUE(found.ok());
  for (const Alternative& each : found->all) EXPECT_NE(each.kind, AlternativeKind::lowered);
}

TEST(Lowered, SaysWhatItRounds) {
  const FusedGraph graph = fused(network());
  for (const Alternative& each : lowered_of(graph).all) {
    if (each.kind != AlternativeKind::lowered) continue;
    const std::string value = graph.graph.value(each.fragment.writes.front().value).name;
    SCOPED_TRACE(value + ": " + each.name);
    const bool reads_half = each.name.starts_with("bf16");
    const bool has_product = value.starts_with("c") || value.starts_with("r");
    EXPECT_EQ(each.rounds_product, has_product && reads_half);
    if (value == "r3") {
      EXPECT_EQ(each.rounds_reads, each.name.ends_with("bf16")) << "the residual has the result's form";
    }
    if (value == "p") {
      EXPECT_FALSE(each.rounds_reads);
    }
  }
}

/// Each lowered kernel on random inputs, beside the usual kernel of its group on the same inputs, rounded where it reads them so.
int check_kernels(const FusedGraph& graph, std::uint64_t seed) {
  int checked = 0;
  const Alternatives alternatives = lowered_of(graph);
  for (const Alternative& each : alternatives.all) {
    if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
    const Fragment& kernel = each.fragment;
    const Fragment usual = fragment_of(graph, graph.groups[static_cast<std::size_t>(each.group)]).value();
    const std::vector<Tensor> wide = testing::random_inputs(usual.graph, seed);
    std::vector<Tensor> own;
    for (const StoredValue& read : kernel.reads) {
      const auto at = std::ranges::find(usual.reads, read.value, &StoredValue::value) - usual.reads.begin();
      own.push_back(
          held_as(wide[static_cast<std::size_t>(at)], read.form.stored == StoredAs::bf16 ? DType::bf16 : DType::f32));
    }
    const FusedGraph one{kernel.graph, {group_of(kernel.graph, kernel.kernel)}};
    const auto got = testing::evaluate_groups(one, own);
    const auto want = evaluate_graph(usual.graph, wide);
    EXPECT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(want.ok());
    if (!got.ok() || !want.ok()) return checked;
    const bool out = kernel.writes.front().form.stored == StoredAs::bf16;
    EXPECT_EQ(got->front().dtype(), out ? DType::bf16 : DType::f32);
    EXPECT_EQ(compare(got->front(), (*want)[usual.graph.outputs.front().index()], 3e-2).mismatches, 0) << to_text(one);
    ++checked;
  }
  return checked;
}

TEST(Lowered, HasTheAnswersOfTheGroupWithRoundedOperands) {
  EXPECT_GT(check_kernels(fused(network()), 1), 8);
  GraphBuilder b;
  const ValueId x = b.input("x", {8, 32});
  const ValueId y = b.relu("r", b.add("mm", MatMulOperator{}, {x, b.constant("w", {32, 64})}));
  EXPECT_GT(check_kernels(fused(b.finish({b.add("mm2", MatMulOperator{}, {y, b.constant("v", {64, 16})})})), 2), 3);
}

TEST(Lowered, OfRandomGraphsIsOneKernelEach) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FusedGraph graph = fused(testing::random_graph(seed));
    for (const Alternative& each : lowered_of(graph).all) {
      if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
      EXPECT_EQ(fuse(each.fragment.graph)->groups.size(), 1u) << seed;
      EXPECT_TRUE(verify(each.fragment.graph).ok());
    }
  }
}

// ---- probes ----

double error_of_answers(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  double error = 0;
  for (std::size_t i = 0; i < want.size(); ++i) error = std::max(error, relative_l2(got[i], want[i]));
  return error;
}

std::vector<Tensor> answers_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> values = evaluate_graph(graph, inputs).value();
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(values[id.index()]);
  return outputs;
}

TEST(Probe, OfTheUsualNetworkErrsByNothing) {
  const FusedGraph graph = fused(network());
  const ProbeNetwork probe = probe_of(graph, lowered_of(graph)).value();
  const std::vector<Tensor> inputs = testing::random_inputs(graph.graph, 3);
  const std::vector<Tensor> want = answers_of(graph.graph, inputs);
  EXPECT_EQ(error_of_answers(answers_of(probe.graph, probe_inputs(inputs, probe.layers.size(), -1)), want), 0);
}

TEST(Probe, RoundsOneLayerAtATime) {
  const FusedGraph graph = fused(network());
  const ProbeNetwork probe = probe_of(graph, lowered_of(graph)).value();
  const std::vector<Tensor> inputs = testing::random_inputs(graph.graph, 3);
  const std::vector<Tensor> want = answers_of(graph.graph, inputs);
  int products = 0;
  for (std::size_t layer = 0; layer < probe.layers.size(); ++layer) {
    const std::vector<Tensor> got =
        answers_of(probe.graph, probe_inputs(inputs, probe.layers.size(), static_cast<int>(layer)));
    const double error = error_of_answers(got, want);
    EXPECT_GT(error, 1e-6) << probe.layers[layer].node;
    EXPECT_LT(error, 2e-2) << probe.layers[layer].node;
    products += probe.layers[layer].product;
  }
  EXPECT_EQ(products, 3) << "c2, c3 and c4";
  EXPECT_TRUE(fuse(probe.graph).ok());
}

}  // namespace lowered_test
}  // namespace whet
