#include "workflow/open_network.h"

#include <gtest/gtest.h>

#include "alternatives/probe.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "tensor/compare.h"

namespace whet::open_network_test {
namespace {

/// A probe of three convolutions: a picture and a truth value a layer.
ProbeNetwork probe() {
  testing::GraphBuilder b;
  ValueId x = b.relu("r0", b.input("x", {1, 16, 6, 6}));
  for (const char* name : {"a", "b", "c"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
  const FusedGraph fused = optimize(b.finish({x}), {}).value();
  const Target target = parse_target("cpu -mcpu=znver4 -threads=1").value();
  const Alternatives alternatives =
      find_alternatives(fused, target, {.covers = false, .lowered = {StoredAs::bf16}}).value();
  return probe_of(fused, alternatives).value();
}

Tensor answer(const Graph& graph, const std::vector<Tensor>& inputs) {
  return evaluate_graph(graph, inputs).value()[graph.outputs.front().index()];
}

TEST(JoinedSwitches, AreOneInputAndGiveTheSameAnswers) {
  const ProbeNetwork network = probe();
  ASSERT_GT(network.layers.size(), 2u);
  const FusedGraph fused = fuse(network.graph).value();
  const FusedGraph joined = with_joined_switches(fused, network.layers.size()).value();
  ASSERT_EQ(joined.graph.inputs.size(), 2u) << "the picture, and the switches";
  EXPECT_EQ(joined.groups.size(), fused.groups.size() + network.layers.size()) << "its kernels, and one a switch";
  Rng rng(3);
  const std::vector<Tensor> sample = {Tensor::random(fused.graph.value(fused.graph.inputs.front()).type, rng)};
  const Tensor usual = answer(fused.graph, probe_inputs(sample, network.layers.size(), -1));
  for (int on = -1; on < static_cast<int>(network.layers.size()); ++on) {
    const std::vector<Tensor> inputs = probe_inputs(sample, network.layers.size(), on);
    const Tensor want = answer(fused.graph, inputs),
                 got = answer(joined.graph, joined_switches(inputs, network.layers.size()));
    EXPECT_EQ(compare(got, want).max_abs, 0) << on;
    if (on >= 0) {
      EXPECT_GT(compare(want, usual).max_abs, 0) << "layer " << on << " rounds";
    }
  }
}

}  // namespace
}  // namespace whet::open_network_test
