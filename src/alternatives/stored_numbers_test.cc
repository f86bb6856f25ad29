#include "alternatives/stored_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

namespace whet {
namespace stored_numbers_test {

using testing::GraphBuilder;

FusedGraph fused_graph(Graph graph) { return optimize(std::move(graph), {}).value(); }

/// The node whose operator is a product, the first of them.
const Node& product_of(const FusedGraph& fused) {
  for (const Node& node : fused.graph.nodes)
    if (is_product(node.op)) return node;
  WHET_CHECK(false, "no product");
  return fused.graph.nodes.front();
}

/// Rows by a matrix of weights, all of which `value` gives.
FusedGraph dense(std::int64_t terms, std::int64_t results, const std::function<double(std::int64_t)>& value) {
  GraphBuilder b;
  std::vector<double> weights;
  for (std::int64_t i = 0; i < terms * results; ++i) weights.push_back(value(i));
  const ValueId w = b.constant("w", {terms, results}, weights);
  return fused_graph(b.finish({b.add("y", MatMulOperator{}, {b.input("x", {3, terms}), w})}));
}

FusedGraph convolution(std::int64_t in, std::int64_t out, std::uint64_t seed) {
  GraphBuilder b;
  b.rng = Rng(seed);
  return fused_graph(b.finish({b.conv("y", b.input("x", {1, in, 7, 7}), out, 3, 1, 1)}));
}

/// The largest sum that leaves a channel of an i16 product, with its bias.
std::int64_t largest_sum(const LoweredProduct& product, std::int64_t channels, std::int64_t channel,
                         const StoredNumbers& x) {
  std::int64_t sum = 0;
  for (std::int64_t i = channel; i < product.weights.size(); i += channels)
    sum += std::abs(product.weights.integer(i)) * x.most;
  return sum + (product.bias ? std::abs(product.bias->integer(channel)) : 0);
}

TEST(StoredNumbers, OfI16LeaveEachSumWithin31Bits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  Rng rng(3);
  std::vector<FusedGraph> graphs = {
      dense(64, 16, [](std::int64_t) { return 1; }),  // the worst: all weights are the largest
      dense(4096, 16, [](std::int64_t i) { return i % 2 == 0 ? 1 : -1; }),
      dense(512, 32, [&](std::int64_t) { return rng.uniform(-0.1, 0.1); }), convolution(64, 32, 1),
      convolution(256, 16, 2)};
  for (const FusedGraph& fused : graphs) {
    const Node& node = product_of(fused);
    const StoredForms forms(fused, {{"x", {-3, 2}}, {fused.graph.value(node.inputs[0]).name, {-3, 2}}});
    const LoweredProduct* product = forms.product(node, StoredAs::i16);
    ASSERT_NE(product, nullptr);
    const StoredNumbers x = *forms.numbers(node.inputs[0], StoredAs::i16);
    const std::int64_t channels = fused.graph.value(node.output).type.shape.back();
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t largest = largest_sum(*product, channels, c, x);
      EXPECT_LE(largest, kMost);
      std::int64_t weight = 0;
      for (std::int64_t i = c; i < product->weights.size(); i += channels)
        weight = std::max(weight, std::abs(product->weights.integer(i)));
      EXPECT_TRUE(weight == 32767 || largest > 0.9 * static_cast<double>(kMost)) << "no bit is left unused";
    }
  }
}

TEST(StoredNumbers, OfI16HaveFewerBitsWhereWeightsNeedThem) {
  const auto bits = [](std::int64_t terms) {
    const FusedGraph fused = dense(terms, 16, [](std::int64_t) { return 0.5; });
    const StoredForms forms(fused, {{"x", {0, 4}}});
    return to_text(*forms.numbers(fused.graph.inputs[0], StoredAs::i16));
  };
  EXPECT_EQ(bits(64), "14 bits, step 0.00061");
  EXPECT_EQ(bits(256), "12 bits, step 0.0024");
  EXPECT_EQ(bits(4096), "10 bits, step 0.0098");
}

TEST(StoredNumbers, OfBytesSpanTheRangeWithAZeroPoint) {
  const FusedGraph fused = dense(64, 16, [](std::int64_t) { return 1; });
  const ValueId x = fused.graph.inputs[0];
  const auto text = [&](ValueRange range) {
    return to_text(*StoredForms(fused, {{"x", range}}).numbers(x, StoredAs::u8));
  };
  EXPECT_EQ(text({-1, 3}), "8 bits, step 0.02, zero 64") << "with room for a quarter more";
  EXPECT_EQ(text({1, 2.04}), "8 bits, step 0.01") << "0 is a number of it";
  EXPECT_EQ(text({-2.04, -1}), "8 bits, step 0.01, zero 255");
}

TEST(StoredNumbers, AreNotThereWhereTheSamplesSayNothing) {
  const FusedGraph fused = dense(64, 16, [](std::int64_t) { return 1; });
  const ValueId x = fused.graph.inputs[0];
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const ValueRanges& ranges :
       {ValueRanges{}, ValueRanges{{"other", {0, 1}}}, ValueRanges{{"x", {0, 0}}}, ValueRanges{{"x", {0, infinity}}},
        ValueRanges{{"x", {nan, 1}}}, ValueRanges{{"x", {0, 1e-40}}}}) {
    const StoredForms forms(fused, ranges);
    for (const StoredAs stored : {StoredAs::i16, StoredAs::u8}) {
      EXPECT_FALSE(forms.numbers(x, stored));
      EXPECT_EQ(forms.product(product_of(fused), stored), nullptr);
    }
    EXPECT_TRUE(forms.numbers(x, StoredAs::bf16)) << "it needs no samples";
  }
}

TEST(StoredNumbers, AreThoseOfAllCopies) {
  GraphBuilder b;
  const PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId a = b.relu("a", b.conv("ca", b.input("x", {1, 16, 9, 9}), 16, 1));
  const ValueId other = b.relu("b", b.conv("cb", a, 16, 1)), pooled = b.add("p", pool, {other});
  const ValueId both = b.add("both", ConcatOperator{1}, {b.add("q", pool, {a}), pooled});
  const FusedGraph fused = fused_graph(b.finish({b.conv("c", both, 16, 1)}));
  const StoredForms forms(fused, {{"a", {0, 4}}, {"b", {0, 8}}, {"x", {-1, 1}}});
  const auto scale = [&](const std::string& name) {
    for (std::size_t v = 0; v < fused.graph.values.size(); ++v)
      if (fused.graph.values[v].name == name)
        return forms.numbers(ValueId(static_cast<std::int64_t>(v)), StoredAs::u8)->scale;
    return 0.0;
  };
  for (const char* name : {"a", "b"}) EXPECT_EQ(scale(name), static_cast<float>(10.0 / 255)) << name;
  EXPECT_EQ(scale("x"), static_cast<float>(2.5 / 255));
}

/// Rounds and widens a tensor by the nodes that kernels have.
Tensor there_and_back(const Tensor& x, const StoredNumbers& numbers) {
  Graph graph;
  graph.inputs = {graph.add_value("x", x.type())};
  const NodeSink sink = {[&](const std::string& name, Operator op, std::vector<ValueId> inputs) {
                           return graph.add_node(name, std::move(op), std::move(inputs));
                         },
                         [&](const std::string& name, Tensor value) { return graph.add_constant(name, value); }};
  const ValueId stored = add_rounding(sink, "stored", graph.inputs[0], numbers).value();
  EXPECT_EQ(graph.value(stored).type.dtype, dtype_of(numbers.stored));
  const ValueId back = add_widening(sink, "back", stored, numbers).value();
  return evaluate_graph(graph, {x}).value()[back.index()];
}

TEST(StoredNumbers, ErrByHalfAStepAndSaturateBeyondTheRange) {
  const FusedGraph fused = dense(64, 16, [](std::int64_t) { return 1; });
  const StoredForms forms(fused, {{"x", {-1, 3}}});
  Rng rng(9);
  for (const StoredAs stored : {StoredAs::bf16, StoredAs::i16, StoredAs::u8}) {
    const StoredNumbers numbers = *forms.numbers(fused.graph.inputs[0], stored);
    const Tensor x = Tensor::random({DType::f32, {1000}}, rng, -1, 3), back = there_and_back(x, numbers);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double half = stored == StoredAs::bf16 ? std::abs(x.get(i)) * 0x1p-8 : 0.5001 * numbers.scale;
      EXPECT_NEAR(back.get(i), x.get(i), half);
    }
    if (stored == StoredAs::bf16) continue;
    const Tensor far = there_and_back(Tensor::of<double>(DType::f32, {2}, {-1e6, 1e6}), numbers);
    EXPECT_NEAR(far.get(0), static_cast<double>(numbers.least - numbers.zero) * numbers.scale, 1e-6);
    EXPECT_NEAR(far.get(1), static_cast<double>(numbers.most - numbers.zero) * numbers.scale, 1e-6);
  }
}

TEST(LoweredProduct, IsNotOfferedOfWeightsThatAreNotFinite) {
  for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const FusedGraph fused = dense(64, 16, [&](std::int64_t i) { return i == 70 ? wrong : 1.0; });
    const StoredForms forms(fused, {{"x", {0, 1}}});
    for (const StoredAs stored : {StoredAs::i16, StoredAs::u8})
      EXPECT_EQ(forms.product(product_of(fused), stored), nullptr);
  }
}

TEST(LoweredProduct, IsOfferedWhereWordsFit) {
  const auto has = [](const FusedGraph& fused, StoredAs stored) {
    const Node& node = product_of(fused);
    return StoredForms(fused, {{fused.graph.value(node.inputs[0]).name, {0, 1}}}).product(node, stored) != nullptr;
  };
  const auto one = [](std::int64_t) { return 1.0; };
  for (const StoredAs stored : {StoredAs::bf16, StoredAs::i16, StoredAs::u8})
    EXPECT_TRUE(has(dense(64, 16, one), stored));
  EXPECT_TRUE(has(dense(66, 16, one), StoredAs::i16));
  EXPECT_FALSE(has(dense(66, 16, one), StoredAs::u8)) << "bytes go by fours";
  EXPECT_FALSE(has(dense(65, 16, one), StoredAs::i16)) << "pairs by twos";
  EXPECT_FALSE(has(dense(64, 15, one), StoredAs::i16)) << "fewer results than a vector has";
  EXPECT_FALSE(has(dense(32772, 16, one), StoredAs::u8)) << "sums of more bytes may leave i32";
}

}  // namespace stored_numbers_test
}  // namespace whet
