#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/random_graph.h"
#include "tensor/compare.h"

namespace whet {
namespace {

using namespace testing;

std::vector<Tensor> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto values = evaluate_graph(graph, inputs);
  EXPECT_TRUE(values.ok()) << (values.ok() ? "" : values.error().message) << "\n" << to_text(graph);
  std::vector<Tensor> outputs;
  if (!values.ok()) return outputs;
  for (ValueId id : graph.outputs) outputs.push_back((*values)[id.index()]);
  return outputs;
}

void expect_same_outputs(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& where) {
  ASSERT_EQ(got.size(), want.size()) << where;
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(to_string(got[k].type()), to_string(want[k].type())) << where;
    const Difference difference = compare(got[k], want[k]);
    EXPECT_TRUE(difference.max_abs <= 1e-5 * std::max(1.0, difference.largest))
        << where << ": output " << k << " differs by " << difference.max_abs << " of " << difference.largest;
  }
}

TEST(EveryPass, KeepsTheMeaningOfRandomGraphs) {
  for (int k = 0; k < testing::random_cases(300) && !::testing::Test::HasFailure(); ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const Graph graph = random_graph(seed);
    ASSERT_TRUE(verify(graph).ok());
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const std::vector<Tensor> want = outputs_of(graph, inputs);
    const auto check = [&](std::string_view pass, const Graph& left) -> Status {
      WHET_RETURN_IF_ERROR(verify(left));
      expect_same_outputs(outputs_of(left, inputs), want, "seed " + std::to_string(seed) + ", " + std::string(pass));
      if (::testing::Test::HasFailure()) return Error{"became\n" + to_text(left)};
      return ok_status();
    };
    const Result<Graph> last = run_passes(graph, {}, check);
    ASSERT_TRUE(last.ok()) << "seed " << seed << ", " << last.error().message << "\n" << to_text(graph);
  }
}

TEST(Optimize, KeepsNamesTypesAndOrderOfInputsAndOutputs) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    const Graph graph = random_graph(seed);
    const auto fused = optimize(graph, {});
    ASSERT_TRUE(fused.ok()) << "seed " << seed << ": " << fused.error().message;
    const Status status = verify(fused->graph);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message;
    ASSERT_EQ(fused->graph.inputs.size(), graph.inputs.size());
    ASSERT_EQ(fused->graph.outputs.size(), graph.outputs.size());
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
      EXPECT_EQ(fused->graph.value(fused->graph.inputs[k]).name, graph.value(graph.inputs[k]).name);
    }
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      const Value &got = fused->graph.value(fused->graph.outputs[k]), &want = graph.value(graph.outputs[k]);
      EXPECT_EQ(got.name, want.name) << "seed " << seed;
      EXPECT_EQ(got.type, want.type) << "seed " << seed;
    }
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    expect_same_outputs(outputs_of(fused->graph, inputs), outputs_of(graph, inputs), "seed " + std::to_string(seed));
  }
}

/// What every reader of a FusedGraph relies on.
TEST(Fuse, GivesGroupsThatCanRunInOrder) {
  for (std::uint64_t seed = 2000; seed < 2200; ++seed) {
    const auto fused = optimize(random_graph(seed), {});
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    const Graph& graph = fused->graph;
    std::vector<bool> known(graph.values.size(), false), grouped(graph.nodes.size(), false);
    for (std::size_t i = 0; i < graph.values.size(); ++i) known[i] = graph.values[i].constant.has_value();
    for (ValueId id : graph.inputs) known[id.index()] = true;
    for (const Group& group : fused->groups) {
      for (NodeId n : group.nodes) {
        EXPECT_FALSE(grouped[n.index()]) << "a node in two groups";
        grouped[n.index()] = true;
      }
    }
    auto resolve_aliases = [&] {
      for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (!grouped[n] && known[graph.nodes[n].inputs[0].index()]) known[graph.nodes[n].output.index()] = true;
      }
    };
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!grouped[n]) {
        EXPECT_TRUE(alias_offset(graph, graph.nodes[n]).has_value());
      }
    }
    for (const Group& group : fused->groups) {
      resolve_aliases();
      for (ValueId id : group.inputs) EXPECT_TRUE(known[id.index()]) << "seed " << seed << "\n" << to_text(*fused);
      ASSERT_EQ(group.outputs.size(), 1u);
      known[group.outputs[0].index()] = true;
    }
    resolve_aliases();
    for (ValueId id : graph.outputs) EXPECT_TRUE(known[id.index()]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace whet
