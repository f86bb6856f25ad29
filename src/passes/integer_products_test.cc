#include "passes/integer_products.h"

#include <cmath>

#include "base/testing/random_cases.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/quantized_builder.h"
#include "passes/testing/rewrite.h"

namespace whet {
namespace {

using namespace testing;

ConvOperator square(std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
  return {{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, groups, Layout::channels_first};
}

std::vector<Tensor> values_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto values = evaluate_graph(graph, inputs);
  EXPECT_TRUE(values.ok()) << (values.ok() ? "" : values.error().message);
  std::vector<Tensor> outputs;
  if (!values.ok()) return outputs;
  for (ValueId id : graph.outputs) outputs.push_back((*values)[id.index()]);
  return outputs;
}

TEST(IntegerProducts, ComeOfDequantizedFactors) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {1, 8, 5, 5}, DType::u8);
  const ValueId y = b.add("conv", square(1, 0), {b.real(x, 7, 0.5), b.weights({16, 8, 1, 1})});
  const Graph graph = b.finish({y});
  const Result<Graph> formed = form_integer_products(graph);
  ASSERT_TRUE(formed.ok()) << formed.error().message;
  const Result<Graph> live = run_passes(*formed, {.channels_last = false});
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_EQ(nodes_of(*live).substr(0, 24), "conv_1: i32[1x16x5x5] = ");
  const std::vector<Tensor> inputs = {Tensor::random({DType::u8, {1, 8, 5, 5}}, b.rng, 0, 256)};
  const Tensor want = values_of(graph, inputs)[0], got = values_of(*formed, inputs)[0];
  for (std::int64_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.get(i), want.get(i), 1e-5 * (1 + std::abs(want.get(i))));
}

TEST(IntegerProducts, AreNoneOfWeightsThatNoByteHolds) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {4, 8}, DType::u8);
  const ValueId w = b.graph.add_constant("w", Tensor::of<double>(DType::i32, {8, 1}, {1, 2, 3, 200, 5, 6, 7, 8}));
  const Graph graph = b.finish({b.add("y", MatMulOperator{}, {b.centred(x, 3), w})});
  EXPECT_EQ(after(form_integer_products, graph), nodes_of(graph));
}

TEST(IntegerProducts, OfManyTermsStayWhereSumsWouldOverflow) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {1, 40000}, DType::u8);
  const Graph graph =
      b.finish({b.add("y", MatMulOperator{}, {b.centred(x, 3), b.centred(b.byte_constant({40000, 1}), 0)})});
  EXPECT_EQ(after(form_integer_products, graph), nodes_of(graph));
}

/// f32 does not hold 2^26 + 1.
TEST(IntegerProducts, OfGroupsStayExactWithALargeBias) {
  for (const double bias : {5.0, 67108865.0}) {
    QuantizedBuilder b;
    const ValueId x = b.input("x", {1, 4, 3, 3}, DType::u8);
    const ValueId y = b.add("conv", square(1, 0, 4), {b.centred(x, 7), b.centred(b.byte_constant({4, 1, 3, 3}), 0)});
    const Graph graph = b.finish({b.plus("biased", y, b.number(bias, DType::i32))});
    const std::vector<Tensor> inputs = {Tensor::random({DType::u8, {1, 4, 3, 3}}, b.rng, 0, 256)};
    const Result<Graph> formed = form_integer_products(graph);
    ASSERT_TRUE(formed.ok()) << formed.error().message;
    const Tensor want = values_of(graph, inputs)[0], got = values_of(*formed, inputs)[0];
    for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.get(i), want.get(i)) << bias;
  }
}

TEST(IntegerProducts, TakeAZeroPointThatIsComputed) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {5, 10}, DType::u8), zero = b.input("zero", {1}, DType::u8);
  const ValueId wide = b.add("wide", CastOperator{DType::i32}, {x});
  const ValueId z = b.add("z", CastOperator{DType::i32}, {zero});
  const ValueId centred = b.binary("centred", BinaryKind::sub, wide, z);
  const ValueId w = b.centred(b.byte_constant({10, 20}), 0);
  const Graph graph = b.finish({b.add("y", MatMulOperator{}, {centred, w})});
  const Result<Graph> formed = run_passes(graph, {});
  ASSERT_TRUE(formed.ok()) << formed.error().message;
  for (const Node& node : formed->nodes) {
    const bool byte = formed->value(node.inputs[0]).type.dtype == DType::u8;
    EXPECT_TRUE(byte || !std::holds_alternative<MatMulOperator>(node.op)) << nodes_of(*formed);
  }
  const std::vector<Tensor> inputs = {Tensor::random({DType::u8, {5, 10}}, b.rng, 0, 256),
                                      Tensor::of<double>(DType::u8, {1}, {137})};
  const Tensor want = values_of(graph, inputs)[0], got = values_of(*formed, inputs)[0];
  for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.get(i), want.get(i));
}

/// A random convolution of i32(x) - zero with bytes. It pads the picture, or a node before it does. `computed`: the zero point is
/// an input.
struct PaddedConvolution {
  Graph graph;
  std::vector<Tensor> inputs;
  bool fills_fours = false;  ///< a picture of other channels than fours is padded before it
};

PaddedConvolution padded_convolution(std::uint64_t seed, bool computed) {
  QuantizedBuilder b;
  b.rng = Rng(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) { return b.rng.between(low, high); };
  const std::size_t dims = static_cast<std::size_t>(pick(1, 2));
  const bool depthwise = pick(0, 1) == 0;
  const std::int64_t channels = pick(2, 9), out = depthwise ? channels : pick(1, 9), zero = pick(1, 255);
  PaddedConvolution result{.fills_fours = !depthwise && channels % 4 != 0};
  ConvOperator op{{}, {}, {}, {}, depthwise ? channels : 1, Layout::channels_first};
  PadOperator pad{PadMode::constant, static_cast<double>(zero), {0, 0}, {0, 0}};
  Shape x = {pick(1, 2), channels}, w = {out, depthwise ? 1 : channels};
  const bool apart = !computed && pick(0, 3) == 0;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t kernel = pick(1, 4), before = pick(0, 3), behind = pick(0, 3), dilation = pick(1, 2);
    op.strides.push_back(pick(1, 3)), op.dilations.push_back(dilation);
    op.pads_begin.push_back(apart ? 0 : before), op.pads_end.push_back(apart ? 0 : behind);
    pad.begin.push_back(apart ? before : 0), pad.end.push_back(apart ? behind : 0);
    x.push_back(std::max<std::int64_t>(pick(1, 9), dilation * (kernel - 1) + 1 - before - behind));
    w.push_back(kernel);
  }
  ValueId bytes = b.input("x", x, DType::u8);
  result.inputs = {Tensor::random({DType::u8, x}, b.rng, 0, 256)};
  if (apart) bytes = b.add("padded", pad, {bytes});
  ValueId centred = b.centred(bytes, static_cast<double>(zero));
  if (computed) {
    const ValueId z = b.add("z", CastOperator{DType::i32}, {b.input("zero", {1}, DType::u8)});
    centred = b.binary("less", BinaryKind::sub, b.add("whole", CastOperator{DType::i32}, {bytes}), z);
    result.inputs.push_back(Tensor::of<double>(DType::u8, {1}, {static_cast<double>(zero)}));
  }
  ValueId y = b.add("conv", op, {centred, b.centred(b.byte_constant(w), 0)});
  const Shape bias = dims == 1 ? Shape{out, 1} : Shape{out, 1, 1};
  if (!computed)
    y = b.plus("biased", y, b.graph.add_constant("bias", Tensor::random({DType::i32, bias}, b.rng, -900, 900)));
  result.graph = b.finish({y});
  return result;
}

TEST(IntegerProducts, TakeTheZeroPointAwayWhereTapsLieInThePicture) {
  for (const bool computed : {false, true})
    for (int k = 0; k < random_cases(200); ++k) {
      const PaddedConvolution padded = padded_convolution(static_cast<std::uint64_t>(k), computed);
      SCOPED_TRACE(to_text(padded.graph));
      const Tensor want = values_of(padded.graph, padded.inputs)[0];
      const Result<Graph> formed = form_integer_products(padded.graph);
      ASSERT_TRUE(formed.ok()) << formed.error().message;
      const Result<FusedGraph> fused = optimize(padded.graph, {});
      ASSERT_TRUE(fused.ok()) << fused.error().message;
      for (const Graph* graph : {&*formed, &fused->graph}) {
        const Tensor got = values_of(*graph, padded.inputs)[0];
        for (std::int64_t i = 0; i < want.size(); ++i) ASSERT_EQ(got.get(i), want.get(i)) << i << to_text(*graph);
      }
      for (const Node& node : fused->graph.nodes) {
        const auto* pad = std::get_if<PadOperator>(&node.op);
        EXPECT_TRUE(!pad || padded.fills_fours) << to_text(fused->graph);
        if (!std::holds_alternative<ConvOperator>(node.op)) continue;
        EXPECT_EQ(fused->graph.value(node.inputs[0]).type.dtype, DType::u8) << to_text(fused->graph);
      }
    }
}

TEST(Bytes, ArePaddedInThePlaceOfFloats) {
  for (const double by : {0.0, 1.0, 0.3, 300.0}) {
    QuantizedBuilder b;
    const ValueId x = b.input("x", {2, 6}, DType::u8);
    const ValueId padded = b.add("padded", PadOperator{PadMode::constant, by, {1, 0}, {0, 2}}, {b.real(x, 9, 0.25)});
    const Graph graph = b.finish({b.rounded(padded, 9, 0.25)});
    const Result<Graph> result = run_passes(graph, {});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->nodes.size() == 1u, by == 0 || by == 1) << nodes_of(*result);
    const std::vector<Tensor> inputs = {Tensor::random({DType::u8, {2, 6}}, b.rng, 0, 256)};
    const Tensor want = values_of(graph, inputs)[0], got = values_of(*result, inputs)[0];
    for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.get(i), want.get(i)) << by;
  }
}

TEST(Bytes, LoseTheirSignsBetweenTheUsersValues) {
  QuantizedBuilder b;
  b.bytes = DType::i8;
  const ValueId x = b.input("x", {2, 3});
  const ValueId q = b.rounded(x, -5, 0.5);
  const Graph graph = b.finish({b.real(q, -5, 0.5), q});
  const std::string text = after(drop_signs, graph);
  EXPECT_NE(text.find("u8[2x3] = cast("), std::string::npos) << text;
  const std::vector<Tensor> inputs = {Tensor::random({DType::f32, {2, 3}}, b.rng, -80, 80)};
  const Result<Graph> dropped = drop_signs(graph);
  const std::vector<Tensor> want = values_of(graph, inputs), got = values_of(*dropped, inputs);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(got[k].dtype(), want[k].dtype());
    for (std::int64_t i = 0; i < want[k].size(); ++i) EXPECT_EQ(got[k].get(i), want[k].get(i));
  }
}

/// i8(-1.5) is -1, and u8(126.5) is 126.
TEST(Bytes, KeepTheirSignsWhereNothingRoundsThem) {
  for (const ClipOperator& range : {ClipOperator{-128, 127}, ClipOperator{-2.5, 2.5}}) {
    QuantizedBuilder b;
    const ValueId x = b.input("x", {5});
    const ValueId whole = range.low == -2.5 ? b.unary("round", UnaryKind::round, x) : x;
    const ValueId q = b.add("q", CastOperator{DType::i8}, {b.add("clip", range, {whole})});
    const Graph graph = b.finish({b.add("y", CastOperator{DType::f32}, {q})});
    const std::vector<Tensor> inputs = {Tensor::of<double>(DType::f32, {5}, {-1.5, -0.5, 0.5, -130.25, 99.75})};
    const Result<Graph> dropped = drop_signs(graph);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    const Tensor want = values_of(graph, inputs)[0], got = values_of(*dropped, inputs)[0];
    for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.get(i), want.get(i)) << i;
  }
}

TEST(Bytes, AreMovedInThePlaceOfFloats) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {2, 6}, DType::u8);
  const ValueId moved = b.add("moved", ReshapeOperator{{3, 4}}, {b.real(x, 9, 0.25)});
  const Graph graph = b.finish({b.rounded(moved, 9, 0.25)});
  const Result<Graph> result = run_passes(graph, {});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->nodes.size(), 1u) << nodes_of(*result);
  EXPECT_TRUE(std::holds_alternative<ReshapeOperator>(result->nodes[0].op));
}

TEST(Bytes, AreWhatKernelsStore) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {1, 16, 6, 6}, DType::u8);
  const ValueId first = b.relu("act", b.add("first", square(1, 1), {b.real(x, 0, 0.1), b.weights({16, 16, 3, 3})}));
  const ValueId bytes = b.rounded(first, 0, 0.2);
  const ValueId second = b.add("second", square(1, 1), {b.real(bytes, 0, 0.2), b.weights({16, 16, 3, 3})});
  const ValueId sum = b.plus("sum", b.real(b.rounded(second, 11, 0.3), 11, 0.3), b.real(bytes, 0, 0.2));
  const Result<FusedGraph> fused = optimize(b.finish({b.rounded(sum, 20, 0.4)}), {});
  ASSERT_TRUE(fused.ok());
  ASSERT_EQ(fused->groups.size(), 4u) << to_text(*fused);  // two of them turn the picture
  for (const Group& group : fused->groups) EXPECT_EQ(fused->graph.value(group.outputs[0]).type.dtype, DType::u8);
}

TEST(Bytes, AreStoredBeforeAReshapeOfWhatBecomesBytes) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {1, 16, 4, 4});
  const ValueId mean = b.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x});
  const ValueId rows = b.add("rows", ReshapeOperator{{1, 16}}, {mean});
  const ValueId y = b.add("y", MatMulOperator{}, {b.real(b.rounded(rows, 9, 0.1), 9, 0.1), b.constant("w", {16, 3})});
  const Result<FusedGraph> fused = optimize(b.finish({y}), {});
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(fused->graph.value(fused->groups[0].outputs[0]).type.dtype, DType::u8) << to_text(*fused);
}

int look_ups(const Graph& graph) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return is_look_up(graph, node); }));
}

TEST(Bytes, AreReadFromATableWhereTheyAreADearFunctionOfOthers) {
  for (const bool has_sign : {false, true}) {
    QuantizedBuilder b;
    b.bytes = has_sign ? DType::i8 : DType::u8;
    const ValueId x = b.input("x", {2, 128}, b.bytes);
    const ValueId y = b.unary("erf", UnaryKind::erf, b.real(x, b.zero(131), 0.03));
    const ValueId product = b.binary("product", BinaryKind::mul, y, b.real(x, b.zero(131), 0.03));
    const Graph graph =
        b.finish({b.rounded(product, b.zero(9), 0.013), b.rounded(b.relu("relu", b.real(x, 7, 0.1)), 0, 0.173)});
    const Result<Graph> result = run_passes(graph, {});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(look_ups(*result), 1) << nodes_of(*result);
    Tensor bytes(b.bytes, {2, 128});
    for (std::int64_t i = 0; i < 256; ++i) bytes.set(i, b.zero(i));
    const std::vector<Tensor> want = values_of(graph, {bytes}), got = values_of(*result, {bytes});
    for (std::size_t k = 0; k < 2; ++k)
      for (std::int64_t i = 0; i < 256; ++i) EXPECT_EQ(got[k].get(i), want[k].get(i)) << k << " " << i;
  }
}

TEST(Bytes, AreReadFromATableAtTheEndOfAConvolution) {
  QuantizedBuilder b;
  const ValueId x = b.input("x", {1, 16, 6, 6}, DType::u8);
  const ValueId sum = b.add("first", square(1, 1), {b.real(x, 0, 0.1), b.weights({16, 16, 3, 3})});
  const ValueId real = b.real(b.rounded(sum, 100, 0.2), 100, 0.2);
  const ValueId swish = b.binary("swish", BinaryKind::mul, real, b.unary("sigmoid", UnaryKind::sigmoid, real));
  const Result<FusedGraph> fused = optimize(b.finish({b.rounded(swish, 20, 0.1)}), {});
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(look_ups(fused->graph), 1);
  EXPECT_EQ(fused->groups.size(), 3u) << to_text(*fused);  // two of them turn the picture
}

/// A chain of quantized operators of every kind, by the seed. Scales are no round numbers: of these, many results would lie
/// exactly between two steps.
Graph random_quantized_graph(std::uint64_t seed, QuantizedBuilder& b) {
  b.rng = Rng(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) { return b.rng.between(low, high); };
  b.bytes = pick(0, 1) == 0 ? DType::u8 : DType::i8;
  std::int64_t channels = pick(1, 9);
  double zero = b.zero(pick(0, 3) == 0 ? 0 : pick(1, 250)), scale = 0.05;
  ValueId x = b.input("x", {1, channels, 7, 6}, b.bytes);
  for (std::int64_t k = pick(1, 4); k-- > 0;) {
    const ValueId in = b.real(x, zero, scale);
    const std::int64_t kind = pick(0, 5), kernel = pick(0, 1) * 2 + 1, stride = pick(1, 2);
    ValueId y = in;
    const bool fits = b.graph.value(x).type.shape[2] >= 3 && b.graph.value(x).type.shape[3] >= 3;
    if (kind <= 2) {
      const bool depthwise = kind == 2 && channels > 1;
      const std::int64_t out = depthwise ? channels : pick(1, 20);
      const ConvOperator op = square(stride, kernel / 2, depthwise ? channels : 1);
      const Shape w = {out, depthwise ? 1 : channels, kernel, kernel};
      y = kind == 1 ? b.add(b.next("conv"), op, {b.centred(x, zero), b.centred(b.byte_constant(w), 0)})
                    : b.add(b.next("conv"), op, {in, b.weights(w)});
      if (kind == 1) {
        const ValueId bias =
            b.graph.add_constant(b.next("b"), Tensor::random({DType::i32, {out, 1, 1}}, b.rng, -900, 900));
        y = b.add(b.next("float"), CastOperator{DType::f32}, {b.plus(b.next("biased"), y, bias)});
        y = b.binary(b.next("scaled"), BinaryKind::mul, y, b.number(b.rng.uniform(0.001, 0.005)));
      }
      channels = out;
      if (pick(0, 1) == 0) y = b.relu(b.next("relu"), y);
    } else if (kind == 3) {
      y = b.plus(b.next("sum"), in, b.real(x, zero, b.rng.uniform(0.03, 0.2)));
    } else if (kind == 4 && fits) {
      const PoolOperator pool{PoolKind::max, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
      y = b.add(b.next("pool"), pool, {in});
    } else {
      y = b.unary(b.next("sigmoid"), UnaryKind::sigmoid, in);
    }
    if (kind != 4) zero = b.zero(pick(0, 255)), scale = static_cast<float>(b.rng.uniform(0.02, 0.11));
    x = b.rounded(y, zero, scale);
  }
  return b.finish({x});
}

TEST(QuantizedGraphs, KeepTheirAnswersWithinAStep) {
  std::int64_t elements = 0, off_by_one = 0;
  for (int k = 0; k < random_cases(150); ++k) {
    QuantizedBuilder b;
    const Graph graph = random_quantized_graph(static_cast<std::uint64_t>(k), b);
    const Result<FusedGraph> fused = optimize(graph, {});
    ASSERT_TRUE(fused.ok()) << fused.error().message << "\n" << to_text(graph);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs)
      inputs.push_back(Tensor::random(graph.value(id).type, b.rng, b.zero(0), b.zero(256)));
    const Tensor want = values_of(graph, inputs)[0], got = values_of(fused->graph, inputs)[0];
    ASSERT_EQ(to_string(got.type()), to_string(want.type()));
    for (std::int64_t i = 0; i < want.size(); ++i) {
      const double steps = std::abs(got.get(i) - want.get(i));
      ASSERT_LE(steps, 2) << "seed " << k << "\n" << to_text(graph) << "became\n" << to_text(fused->graph);
      ++elements, off_by_one += steps > 0;
    }
  }
  EXPECT_LE(off_by_one * 1000, elements);
}

TEST(QuantizedGraphs, MultiplyBytesInEveryConvolution) {
  for (int k = 0; k < random_cases(150); ++k) {
    QuantizedBuilder b;
    const Graph graph = random_quantized_graph(static_cast<std::uint64_t>(k), b);
    const Result<Graph> result = run_passes(graph, {});
    ASSERT_TRUE(result.ok());
    for (const Node& node : result->nodes) {
      const auto* conv = std::get_if<ConvOperator>(&node.op);
      if (!conv) continue;
      EXPECT_EQ(result->value(node.inputs[0]).type.dtype, DType::u8) << "seed " << k << "\n" << nodes_of(*result);
      EXPECT_EQ(result->value(node.inputs[1]).type.dtype, DType::i8);
    }
  }
}

}  // namespace
}  // namespace whet
