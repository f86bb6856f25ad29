#include "alternatives/lowered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "alternatives/alternatives.h"
#include "alternatives/probe.h"
#include "alternatives/stored_numbers.h"
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

const std::vector<StoredAs> kBf16 = {StoredAs::bf16}, kWhole = {StoredAs::i16, StoredAs::u8};

/// What each value lies between on some random inputs.
ValueRanges ranges_of(const FusedGraph& graph) {
  ValueRanges ranges;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Tensor> values = evaluate_graph(graph.graph, testing::random_inputs(graph.graph, seed)).value();
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Value& value = graph.graph.values[v];
      if (value.constant || value.type.dtype != DType::f32) continue;
      for (std::int64_t i = 0; i < values[v].size(); ++i) {
        const double number = values[v].get(i);
        ValueRange& range = ranges.try_emplace(value.name, ValueRange{number, number}).first->second;
        range.least = std::min(range.least, number), range.most = std::max(range.most, number);
      }
    }
  }
  return ranges;
}

Alternatives lowered_of(const FusedGraph& graph, const std::vector<StoredAs>& types = kBf16) {
  const Target target = *parse_target("cpu -mcpu=znver4 -threads=2");
  AlternativeOptions options{.covers = false, .lowered = types};
  if (types != kBf16) options.ranges = ranges_of(graph);
  return find_alternatives(graph, target, options).value();
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
    EXPECT_EQ(each.rounds_product.has_value(), has_product && reads_half);
    if (value == "r3") {
      EXPECT_EQ(each.rounds_reads.has_value(), each.name.ends_with("bf16")) << "the residual has the result's form";
    }
    if (value == "p") {
      EXPECT_FALSE(each.rounds_reads);
    }
  }
}

TEST(Lowered, ReadsOneTypeAndWritesAnother) {
  const FusedGraph graph = fused(network());
  const Alternatives alternatives = lowered_of(graph, {StoredAs::bf16, StoredAs::i16, StoredAs::u8});
  const std::set<std::string> names = names_of(graph, alternatives);
  for (const char* name :
       {"r1: nhwc -> i16", "r2: i16", "r2: u8 -> i16", "r3: i16 -> u8", "r3: u8 -> bf16", "r3: bf16 -> i16", "c4: i16",
        "c4: u8 -> nhwc", "p: i16", "p: u8", "copy of r1: nhwc -> u8", "copy of r3: nhwc -> i16"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"p: i16 -> u8", "p: i16 -> nhwc", "r1: i16", "copy of r1: i16 -> u8"})
    EXPECT_FALSE(names.contains(name)) << name;
  for (const Alternative& each : alternatives.all) {
    if (each.name == "i16 -> u8" && graph.graph.value(each.fragment.writes.front().value).name == "r3") {
      EXPECT_EQ(each.rounds_product, StoredAs::i16);
      EXPECT_EQ(each.rounds_reads, StoredAs::u8);
    }
  }
}

TEST(Lowered, IsNoWholeNumberWithoutRanges) {
  const FusedGraph graph = fused(network());
  const Target target = *parse_target("cpu -mcpu=znver4 -threads=2");
  const Alternatives found = find_alternatives(graph, target, {.covers = false, .lowered = kWhole}).value();
  EXPECT_EQ(found.all.size(), found.usual);
}

TEST(Lowered, TypesAreThoseThatTheTargetMultiplies) {
  const auto of = [](const char* processor) { return lowered_for(*parse_target(processor)); };
  EXPECT_EQ(of("cpu -mcpu=znver4"), (std::vector<StoredAs>{StoredAs::bf16, StoredAs::i16, StoredAs::u8}));
  EXPECT_EQ(of("cpu -mcpu=haswell"), (std::vector<StoredAs>{StoredAs::i16, StoredAs::u8}));
  EXPECT_EQ(of("cpu -mcpu=cortex-a72"), std::vector<StoredAs>{StoredAs::u8});
}

/// Tasks have no scales: layers of a shape are one, and a plan's records serve other samples.
TEST(Lowered, TasksAreTheSameWithOtherRanges) {
  const FusedGraph graph = fused(network());
  AlternativeOptions options{.covers = false, .lowered = kWhole, .ranges = ranges_of(graph)};
  const auto keys = [&] {
    std::set<std::string> all;
    const Target target = *parse_target("cpu -mcpu=znver4 -threads=2");
    const Alternatives found = find_alternatives(graph, target, options).value();
    for (const Task& task : found.tasks) all.insert(task.key);
    return all;
  };
  const std::set<std::string> first = keys();
  for (auto& [name, range] : options.ranges) range.least *= 1.7, range.most *= 1.7;
  EXPECT_EQ(keys(), first);
}

/// A tensor as the form stores it: written down here again, without the nodes.
Tensor stored_by_hand(const Tensor& wide, const StoredNumbers& numbers) {
  if (numbers.stored == StoredAs::bf16) return held_as(wide, DType::bf16);
  Tensor stored(dtype_of(numbers.stored), wide.shape());
  const double a_unit = static_cast<float>(1 / numbers.scale);
  for (std::int64_t i = 0; i < wide.size(); ++i) {
    const double steps = std::nearbyint(static_cast<float>(wide.get(i) * a_unit)) + static_cast<double>(numbers.zero);
    stored.set(i, std::clamp(steps, static_cast<double>(numbers.least), static_cast<double>(numbers.most)));
  }
  return stored;
}
Tensor widened_by_hand(const Tensor& stored, const StoredNumbers& numbers) {
  Tensor wide(DType::f32, stored.shape());
  for (std::int64_t i = 0; i < stored.size(); ++i)
    wide.set(i, numbers.stored == StoredAs::bf16
                    ? stored.get(i)
                    : static_cast<float>(numbers.scale * (stored.get(i) - static_cast<double>(numbers.zero))));
  return wide;
}

/// Each lowered kernel on the network's values, rounded where it reads them so, beside the network's result; and its task beside its graph,
/// which are equal to the last bit where results are whole numbers.
int check_kernels(const FusedGraph& graph, const std::vector<StoredAs>& types, double tolerance) {
  int checked = 0;
  const ValueRanges ranges = types == kBf16 ? ValueRanges() : ranges_of(graph);
  const StoredForms forms(graph, ranges);
  const std::vector<Tensor> values = evaluate_graph(graph.graph, testing::random_inputs(graph.graph, 1)).value();
  const Alternatives alternatives = lowered_of(graph, types);
  for (const Alternative& each : alternatives.all) {
    if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
    const Fragment& kernel = each.fragment;
    const StoredValue& written = kernel.writes.front();
    SCOPED_TRACE(graph.graph.value(written.value).name + ": " + each.name);
    std::vector<Tensor> own;
    for (const StoredValue& read : kernel.reads) {
      const Tensor& wide = values[read.value.index()];
      const bool usual = read.form.stored == StoredAs::usual;
      own.push_back(usual ? wide : stored_by_hand(wide, *forms.numbers(read.value, read.form.stored)));
    }
    const FusedGraph one{kernel.graph, {group_of(kernel.graph, kernel.kernel)}};
    const auto got = testing::evaluate_groups(one, own);
    const auto inner = evaluate_graph(kernel.graph, own);
    EXPECT_TRUE(got.ok() && inner.ok()) << (got.ok() ? "" : got.error().message);
    if (!got.ok() || !inner.ok()) return checked;
    EXPECT_EQ(got->front().dtype(), dtype_of(written.form.stored));
    const double exact = is_float(got->front().dtype()) ? 1e-5 : 0;
    EXPECT_EQ(compare(got->front(), (*inner)[kernel.graph.outputs.front().index()], exact).mismatches, 0);
    const Tensor result = written.form.stored == StoredAs::usual
                              ? got->front()
                              : widened_by_hand(got->front(), *forms.numbers(written.value, written.form.stored));
    EXPECT_EQ(compare(result, values[written.value.index()], tolerance).mismatches, 0) << to_text(one);
    ++checked;
  }
  return checked;
}

/// Two dense layers.
Graph dense_network() {
  GraphBuilder b;
  const ValueId x = b.input("x", {8, 32});
  const ValueId y = b.relu("r", b.add("mm", MatMulOperator{}, {x, b.constant("w", {32, 64})}));
  return b.finish({b.add("mm2", MatMulOperator{false, true}, {y, b.constant("v", {16, 64})})});
}

TEST(Lowered, HasTheAnswersOfTheGroupWithRoundedOperands) {
  EXPECT_GT(check_kernels(fused(network()), kBf16, 3e-2), 8);
  EXPECT_GT(check_kernels(fused(dense_network()), kBf16, 3e-2), 3);
}

TEST(Lowered, OfI16ErrsByLittle) {
  EXPECT_GT(check_kernels(fused(network()), {StoredAs::i16}, 1e-3), 8);
  EXPECT_GT(check_kernels(fused(dense_network()), {StoredAs::i16}, 1e-3), 3);
}

TEST(Lowered, OfBytesErrsByMore) {
  EXPECT_GT(check_kernels(fused(network()), kWhole, 6e-2), 20);
  EXPECT_GT(check_kernels(fused(dense_network()), kWhole, 6e-2), 8);
}

/// A convolution from whole numbers to f32 is what 64-bit integers and one scale say, in the padding too. A bias that is an input is added
/// behind them.
TEST(Lowered, SumsOfWholeNumbersAreExact) {
  for (const auto& [depthwise, with_bias] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    GraphBuilder b;
    constexpr std::int64_t kChannels = 16, kSide = 6;
    const ConvOperator op{{1, 1}, {1, 1}, {1, 1}, {1, 1}, depthwise ? kChannels : 1, Layout::channels_first};
    const ValueId w = b.constant("w", {kChannels, depthwise ? 1 : kChannels, 3, 3});
    const ValueId x = b.unary("t", UnaryKind::tanh, b.input("x", {1, kChannels, kSide, kSide}));
    std::vector<ValueId> operands = {x, w};
    if (with_bias) operands.push_back(b.input("bias", {kChannels}));
    const FusedGraph graph = fused(b.finish({b.add("c", op, operands)}));
    int checked = 0;
    const StoredForms forms(graph, ranges_of(graph));
    for (const Alternative& each : lowered_of(graph, kWhole).all) {
      if (!each.rounds_product || each.fragment.writes.front().form.stored != StoredAs::usual) continue;
      if (depthwise && *each.rounds_product != StoredAs::u8) continue;  // widened
      const auto node = std::ranges::find_if(graph.graph.nodes, [](const Node& n) { return is_product(n.op); });
      const LoweredProduct& product = *forms.product(*node, *each.rounds_product);
      const StoredNumbers numbers = *forms.numbers(node->inputs[0], *each.rounds_product);
      Rng rng(4);
      Tensor stored(dtype_of(numbers.stored), {1, kSide, kSide, kChannels});
      for (std::int64_t i = 0; i < stored.size(); ++i) stored.set_integer(i, rng.between(numbers.least, numbers.most));
      const FusedGraph one{each.fragment.graph, {group_of(each.fragment.graph, each.fragment.kernel)}};
      std::vector<Tensor> inputs = {stored};
      if (with_bias) inputs.push_back(Tensor::random({DType::f32, {kChannels}}, rng));
      const Tensor got = testing::evaluate_groups(one, inputs)->front();
      ++checked;
      ASSERT_EQ(got.size(), kSide * kSide * kChannels);
      for (std::int64_t y = 0, at = 0; y < kSide; ++y)
        for (std::int64_t column = 0; column < kSide; ++column)
          for (std::int64_t o = 0; o < kChannels; ++o, ++at) {
            std::int64_t sum = 0;
            for (std::int64_t tap = 0; tap < 9; ++tap) {
              const std::int64_t i = y + tap / 3 - 1, j = column + tap % 3 - 1;
              if (i < 0 || j < 0 || i >= kSide || j >= kSide) continue;
              for (std::int64_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : kChannels); ++c) {
                const std::int64_t weight = depthwise ? tap * kChannels + o : (tap * kChannels + c) * kChannels + o;
                sum +=
                    (stored.integer((i * kSide + j) * kChannels + c) - numbers.zero) * product.weights.integer(weight);
              }
            }
            auto want = static_cast<float>(static_cast<float>(sum) * static_cast<float>(product.scales->get(o)));
            if (with_bias) want += static_cast<float>(inputs[1].get(o));
            ASSERT_EQ(got.get(at), want) << each.name << " at " << at;
          }
    }
    EXPECT_EQ(checked, depthwise ? 1 : 2);
  }
}

TEST(Lowered, OfRandomGraphsIsOneKernelEach) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FusedGraph graph = fused(testing::random_graph(seed));
    for (const Alternative& each : lowered_of(graph, {StoredAs::bf16, StoredAs::i16, StoredAs::u8}).all) {
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
  for (const std::vector<StoredAs>& types : {kBf16, kWhole}) {
    const ProbeNetwork probe = probe_of(graph, lowered_of(graph, types), ranges_of(graph)).value();
    const std::vector<Tensor> inputs = testing::random_inputs(graph.graph, 3);
    const std::vector<Tensor> want = answers_of(graph.graph, inputs);
    EXPECT_EQ(error_of_answers(answers_of(probe.graph, probe_inputs(inputs, probe.layers.size(), -1)), want), 0);
  }
}

TEST(Probe, RoundsOneLayerAtATime) {
  const FusedGraph graph = fused(network());
  const ProbeNetwork probe =
      probe_of(graph, lowered_of(graph, {StoredAs::bf16, StoredAs::i16, StoredAs::u8}), ranges_of(graph)).value();
  const std::vector<Tensor> inputs = testing::random_inputs(graph.graph, 3);
  const std::vector<Tensor> want = answers_of(graph.graph, inputs);
  std::map<StoredAs, int> products;
  std::map<std::string, std::map<StoredAs, double>> errors;  // of products
  for (std::size_t layer = 0; layer < probe.layers.size(); ++layer) {
    const ProbedLayer& rounded = probe.layers[layer];
    const std::vector<Tensor> got =
        answers_of(probe.graph, probe_inputs(inputs, probe.layers.size(), static_cast<int>(layer)));
    const double error = error_of_answers(got, want);
    EXPECT_GT(error, 1e-7) << rounded.node;
    EXPECT_LT(error, rounded.stored == StoredAs::u8 ? 5e-2 : 2e-2) << rounded.node;
    if (rounded.product) ++products[rounded.stored], errors[rounded.node][rounded.stored] = error;
  }
  for (const auto& [stored, count] : products) EXPECT_EQ(count, 3) << "c2, c3 and c4";
  EXPECT_EQ(products.size(), 3u);
  for (const auto& [node, of] : errors) {
    EXPECT_LT(of.at(StoredAs::i16), of.at(StoredAs::bf16)) << node;
    EXPECT_LT(of.at(StoredAs::bf16), of.at(StoredAs::u8)) << node;
  }
  EXPECT_TRUE(fuse(probe.graph).ok());
}

}  // namespace lowered_test
}  // namespace whet
