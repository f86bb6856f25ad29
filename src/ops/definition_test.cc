#include <algorithm>
#include <cmath>

#include "ops/testing/define_one.h"

// What every family of operators looks like as compute definitions, in the documented notation.
namespace whet {
namespace {

using namespace testing;

/// The lines of the dag's ops, without placeholders, the `for ...` part and the returned name.
std::string definition(const Operator& op, const std::vector<TensorType>& inputs) {
  std::istringstream text(to_text(define_one(op, inputs)));
  std::string line, result;
  while (std::getline(text, line)) {
    if (line.find("PLACEHOLDER") != std::string::npos || line.rfind("return", 0) == 0 || line.empty()) continue;
    result += line.substr(0, line.find(" for ")) + "\n";
  }
  return result;
}

/// The `# family axis:role ...` comment of the last op.
std::string roles(const Operator& op, const std::vector<TensorType>& inputs) {
  const std::string text = to_text(define_one(op, inputs));
  const std::size_t at = text.rfind("# ");
  return text.substr(at + 2, text.find('\n', at) - at - 2);
}

ConvOperator conv(std::int64_t stride, std::int64_t pad, std::int64_t groups = 1,
                  Layout layout = Layout::channels_last) {
  return {{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, groups, layout};
}

TEST(Definition, OfAConvolutionPadsFirstAndAddsItsBiasLast) {
  const std::vector<TensorType> types = {f32({1, 8, 8, 4}), f32({3, 3, 4, 16}), f32({16})};
  EXPECT_EQ(
      definition(conv(2, 1), types),
      "conv_pad(n, y, x, c) = select((y >= 1) && (y < 9) && (x >= 1) && (x < 9), p0[n, (y - 1), (x - 1), c], 0f)\n"
      "conv(n, y, x, oc) += (conv_pad[n, ((y*2) + rh), ((x*2) + rw), rc]*p1[rh, rw, rc, oc])\n"
      "conv_bias(i0, i1, i2, i3) = (conv[i0, i1, i2, i3] + p2[i3])\n");
}

TEST(Definition, OfProductsOfHalvesAddsThemUpInSinglePrecision) {
  const auto f16 = [](Shape shape) { return TensorType{DType::f16, std::move(shape)}; };
  const std::string sum = "(n, y, x, oc) += (f32(p0[n, (y + rh), (x + rw), rc])*f32(p1[rh, rw, rc, oc]))\n";
  EXPECT_EQ(definition(conv(1, 0), {f16({1, 8, 8, 4}), f16({1, 1, 4, 16}), f16({16})}),
            "conv" + sum + "conv_bias(i0, i1, i2, i3): f16 = f16((conv[i0, i1, i2, i3] + f32(p2[i3])))\n");
  EXPECT_EQ(definition(conv(1, 0), {f16({1, 8, 8, 4}), f16({1, 1, 4, 16})}),
            "conv_sum" + sum + "conv(i0, i1, i2, i3): f16 = f16(conv_sum[i0, i1, i2, i3])\n");
  EXPECT_EQ(definition(MatMulOperator{}, {f16({4, 8}), f16({8, 6})}),
            "matmul_sum(m, n) += (f32(p0[m, k])*f32(p1[k, n]))\nmatmul(i0, i1): f16 = f16(matmul_sum[i0, i1])\n");
}

TEST(Definition, OfAConvolutionReadsABiasForTheBordersByThePlace) {
  const std::vector<TensorType> types = {f32({1, 8, 8, 4}), f32({3, 3, 4, 16})};
  const auto bias = [&](const ConvOperator& op, Shape shape) {
    const std::string text = definition(op, {types[0], types[1], f32(std::move(shape))});
    return text.substr(text.find("conv_bias"));
  };
  EXPECT_EQ(
      bias(conv(1, 1), {3, 3, 16}),
      "conv_bias(i0, i1, i2, i3) = (conv[i0, i1, i2, i3] + p2[(min(i1, 1) + max((i1 - 6), 0)), (min(i2, 1) + max((i2 "
      "- 6), 0)), i3])\n");
  EXPECT_EQ(bias(conv(2, 1), {2, 2, 16}),
            "conv_bias(i0, i1, i2, i3) = (conv[i0, i1, i2, i3] + p2[min(i1, 1), min(i2, 1), i3])\n");
}

TEST(Definition, OfAConvolutionCarriesTheRolesThatTemplatesLookFor) {
  EXPECT_EQ(roles(conv(1, 0), {f32({1, 8, 8, 4}), f32({3, 3, 4, 16})}),
            "conv n:batch y:row x:column oc:out_channel rh:tap rw:tap rc:in_channel");
  EXPECT_EQ(roles(conv(1, 0, 4), {f32({1, 8, 8, 4}), f32({3, 3, 4})}),
            "depthwise n:batch y:row x:column c:channel rh:tap rw:tap");
}

TEST(Definition, OfAConvolutionOfBlocksReadsAndWritesThem) {
  ConvOperator op = conv(1, 1, 1, Layout::channels_blocked);
  op.block = 16;
  EXPECT_EQ(definition(op, {f32({1, 2, 8, 8, 4}), f32({3, 3, 8, 32}), f32({32})}),
            "conv_pad(n, c, y, x, cb) = select((y >= 1) && (y < 9) && (x >= 1) && (x < 9), p0[n, c, (y - 1), (x - 1), "
            "cb], 0f)\n"
            "conv(n, oc, y, x, ocb) += (conv_pad[n, rc, (y + rh), (x + rw), rcb]*p1[rh, rw, ((rc*4) + rcb), ((oc*16) + "
            "ocb)])\n"
            "conv_bias(i0, i1, i2, i3, i4) = (conv[i0, i1, i2, i3, i4] + p2[((i1*16) + i4)])\n");
  EXPECT_EQ(roles(op, {f32({1, 2, 8, 8, 4}), f32({3, 3, 8, 32})}),
            "conv n:batch oc:out_channel y:row x:column ocb:out_channel rc:in_channel rh:tap rw:tap rcb:in_channel");
}

TEST(Definition, OfAConvolutionPadsOnlyWhereThePaddingIs) {
  const ConvOperator op{{1, 1}, {1, 1}, {1, 0}, {0, 1}, 4, Layout::channels_last};
  EXPECT_EQ(definition(op, {f32({1, 8, 8, 4}), f32({3, 3, 4})}),
            "conv_pad(n, y, x, c) = select((y >= 1) && (x < 8), p0[n, (y - 1), x, c], 0f)\n"
            "conv(n, y, x, c) += (conv_pad[n, (y + rh), (x + rw), c]*p1[rh, rw, c])\n");
}

TEST(Definition, OfAGroupedConvolutionReadsTheChannelsOfItsGroup) {
  const ConvOperator op{{1, 1}, {2, 2}, {0, 0}, {0, 0}, 2, Layout::channels_first};
  EXPECT_EQ(
      definition(op, {f32({1, 4, 8, 8}), f32({6, 2, 3, 3})}),
      "conv(n, oc, y, x) += (p0[n, ((floordiv(oc, 3)*2) + rc), (y + (rh*2)), (x + (rw*2))]*p1[oc, rc, rh, rw])\n");
}

TEST(Definition, OfAConvolutionWorksInOneAndThreeDimensions) {
  const ConvOperator one{{1}, {1}, {0}, {0}, 1, Layout::channels_last};
  EXPECT_EQ(definition(one, {f32({1, 8, 4}), f32({3, 4, 5})}),
            "conv(n, x, oc) += (p0[n, (x + rw), rc]*p1[rw, rc, oc])\n");
  const ConvOperator three{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 1, Layout::channels_last};
  EXPECT_EQ(roles(three, {f32({1, 4, 4, 4, 2}), f32({2, 2, 2, 2, 3})}),
            "conv n:batch z:depth y:row x:column oc:out_channel rd:tap rh:tap rw:tap rc:in_channel");
}

TEST(Definition, OfAMatmulBroadcastsItsBatch) {
  EXPECT_EQ(definition(MatMulOperator{}, {f32({2, 1, 4, 8}), f32({3, 8, 5})}),
            "matmul(b0, b1, m, n) += (p0[b0, 0, m, k]*p1[b1, k, n])\n");
  EXPECT_EQ(definition(MatMulOperator{true, true}, {f32({8, 4}), f32({5, 8})}),
            "matmul(m, n) += (p0[k, m]*p1[n, k])\n");
  EXPECT_EQ(roles(MatMulOperator{}, {f32({4, 8}), f32({8, 5})}), "matmul m:row n:out_channel k:in_channel");
}

TEST(Definition, OfAMaxPoolPadsWithTheIdentity) {
  const PoolOperator op{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_last};
  EXPECT_EQ(definition(op, {f32({1, 8, 8, 4})}),
            "maxpool_pad(n, y, x, c) = select((y >= 1) && (y < 9) && (x >= 1) && (x < 9), p0[n, (y - 1), (x - 1), c], "
            "-inff)\n"
            "maxpool(n, y, x, c) max= maxpool_pad[n, ((y*2) + rh), ((x*2) + rw), c]\n");
  EXPECT_EQ(roles(op, {f32({1, 8, 8, 4})}), "pool n:batch y:row x:column c:channel rh:tap rw:tap");
}

TEST(Definition, OfAMeanMultipliesByTheReciprocal) {
  EXPECT_EQ(definition(ReduceOperator{ReduceKind::mean, {1, 2}, true}, {f32({1, 4, 4, 8})}),
            "reduce_mean_sum(i0, i1, i2, i3) += p0[i0, r1, r2, i3]\n"
            "reduce_mean(i0, i1, i2, i3) = (reduce_mean_sum[i0, i1, i2, i3]*0.0625f)\n");
}

TEST(Definition, OfASoftmaxIsFourOps) {
  EXPECT_EQ(definition(SoftmaxOperator{1}, {f32({2, 7})}),
            "softmax_max(i0) max= p0[i0, r]\n"
            "softmax_exp(i0, i1) = exp((p0[i0, i1] - softmax_max[i0]))\n"
            "softmax_sum(i0) += softmax_exp[i0, r]\n"
            "softmax(i0, i1) = (softmax_exp[i0, i1]*(1f/softmax_sum[i0]))\n");
}

TEST(Definition, OfElementwiseOperatorsIsMinAndMaxWherePossible) {
  EXPECT_EQ(definition(UnaryOperator{UnaryKind::relu}, {f32({4})}), "relu(i0) = max(p0[i0], 0f)\n");
  EXPECT_EQ(definition(ClipOperator{0, 6}, {f32({4})}), "clip(i0) = min(max(p0[i0], 0f), 6f)\n");
  EXPECT_EQ(definition(UnaryOperator{UnaryKind::hard_swish}, {f32({4})}),
            "hard_swish(i0) = (p0[i0]*min(max(((p0[i0]*0.16666667f) + 0.5f), 0f), 1f))\n");
}

TEST(Definition, OfABroadcastReadsIndexZero) {
  EXPECT_EQ(definition(BinaryOperator{BinaryKind::add}, {f32({4, 1, 1}), f32({3, 1})}),
            "add(i0, i1, i2) = (p0[i0, 0, i2] + p1[i1, i2])\n");
}

TEST(Definition, OfAReshapeKeepsThePlainIndexOfWhatItLeavesAlone) {
  EXPECT_EQ(definition(ReshapeOperator{{4, 8, 6}}, {f32({4, 2, 4, 6})}),
            "reshape(i0, i1, i2) = p0[i0, floordiv(i1, 4), floormod(i1, 4), i2]\n");
  EXPECT_EQ(definition(ReshapeOperator{{1, 4, 48}}, {f32({4, 1, 6, 8})}),
            "reshape(i0, i1, i2) = p0[i1, 0, floordiv(i2, 8), floormod(i2, 8)]\n");
}

TEST(Definition, OfAConcatenationSelectsByTheAxis) {
  EXPECT_EQ(definition(ConcatOperator{1}, {f32({2, 3}), f32({2, 4}), f32({2, 1})}),
            "concat(i0, i1) = select((i1 < 3), p0[i0, i1], select((i1 < 7), p1[i0, (i1 - 3)], p2[i0, (i1 - 7)]))\n");
}

TEST(Definition, OfAGatherClampsAndBoundsItsIndices) {
  const std::vector<TensorType> types = {f32({4, 8}), TensorType{DType::i64, {3}}};
  EXPECT_EQ(definition(GatherOperator{1}, types),
            "gather(i0, i1) = p0[i0, min(max(select((p1[i1] < 0), (p1[i1] + 8), p1[i1]), 0), 7)]\n");
  EXPECT_EQ(std::get<Placeholder>(define_one(GatherOperator{1}, types).ops[1].def).index_bound, 8);
}

TEST(Definition, OfANearestResizeIsIntegerArithmetic) {
  const ResizeOperator op{.mode = ResizeMode::nearest,
                          .coordinates = CoordinateMode::asymmetric,
                          .nearest = NearestMode::floor,
                          .scales = {1, 2, 3},
                          .shape = {1, 4, 6}};
  EXPECT_EQ(definition(op, {f32({1, 2, 2})}), "resize(i0, i1, i2) = p0[i0, floordiv(i1, 2), floordiv(i2, 3)]\n");
}

TEST(Definition, ReadsAConstantOpAsALiteral) {
  ComputeDag dag;
  const OpId x = dag.add({"x", DType::f32, {4}, Placeholder{}});
  const OpId two = dag.add({"two", DType::f32, {}, Element{.body = float_const(2)}});
  const auto op = [](BinaryKind kind) { return BinaryOperator{kind}; };
  const std::vector<TensorType> types = {f32({4}), f32({})};
  const auto square = define(dag, op(BinaryKind::pow), {x, two}, types, f32({4}), "square");
  const auto half = define(dag, op(BinaryKind::div), {*square, two}, types, f32({4}), "half");
  dag.outputs = {*half};
  EXPECT_EQ(to_text(without_dead_ops(dag)),
            "x = PLACEHOLDER [4]\n"
            "square(i0) = (x[i0]*x[i0]) for i0 in 4  # elementwise\n"
            "half(i0) = (square[i0]*0.5f) for i0 in 4  # elementwise\n"
            "return half\n");
}

TEST(Definition, OfThousandsOfOperatorsGivesEachANameOfItsOwn) {
  constexpr int kCount = 6000;  // took minutes while each name was looked for among all ops
  ComputeDag dag;
  OpNames names;
  OpId last = dag.add({"relu_2", DType::f32, {4}, Placeholder{}});
  for (int i = 0; i < kCount; ++i)
    last = *define(dag, names, UnaryOperator{UnaryKind::relu}, {last}, {f32({4})}, f32({4}), "relu");
  dag.outputs = {last};
  EXPECT_TRUE(verify(dag).ok());
  EXPECT_EQ(dag.op(OpId(3)).name, "relu_3");
  EXPECT_EQ(dag.ops.back().name, "relu_" + std::to_string(kCount));
}

/// What a GELU multiplies with x, however large that is.
TEST(Definition, OfOnePlusAnErrorFunctionVanishesFarBelow) {
  const Tensor x = floats({4}, {-1e30, -20, -3, 20});
  ComputeDag dag;
  const OpId in = dag.add({"x", DType::f32, {4}, Placeholder{}});
  const OpId one = dag.add({"one", DType::f32, {}, Element{.body = float_const(1)}});
  const OpId erf = *define(dag, UnaryOperator{UnaryKind::erf}, {in}, {x.type()}, x.type(), "erf");
  dag.outputs = {*define(dag, BinaryOperator{BinaryKind::add}, {erf, one}, {x.type(), f32({})}, x.type(), "sum")};
  const auto sum = evaluate(dag, {x});
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_EQ(sum->front().get(0), 0);
  EXPECT_LT(sum->front().get(1), 1e-40);
  EXPECT_NEAR(sum->front().get(2), std::erfc(3.0), 1e-9);
  EXPECT_EQ(sum->front().get(3), 2);
}

TEST(Definition, OfTheTanhOfASoftplusIsAQuotientOfOneExponential) {
  const auto mish_of = [](bool in_steps, const Tensor& x) {
    ComputeDag dag;
    const OpId in = dag.add({"x", x.dtype(), x.shape(), Placeholder{}});
    const OpId one = dag.add({"one", x.dtype(), {}, Element{.body = constant_like(float_const(1, x.dtype()), 1)}});
    const std::vector<TensorType> types = {x.type(), TensorType{x.dtype(), {}}};
    const auto unary = [&](UnaryKind kind, OpId of, const char* name) {
      return *define(dag, UnaryOperator{kind}, {of}, {x.type()}, x.type(), name);
    };
    const auto binary = [&](BinaryKind kind, OpId a, OpId b, const char* name) {
      return *define(dag, BinaryOperator{kind}, {a, b}, types, x.type(), name);
    };
    OpId soft;
    if (in_steps)
      soft = unary(UnaryKind::log, binary(BinaryKind::add, unary(UnaryKind::exp, in, "e"), one, "s"), "soft");
    else
      soft = unary(UnaryKind::softplus, in, "soft");
    dag.outputs = {unary(UnaryKind::tanh, soft, "y")};
    dag = without_dead_ops(dag);
    EXPECT_EQ(to_text(dag.ops.back().element().body, [](SourceId) { return "x"; }),
              "((exp(min(x[i0], 20f))*(exp(min(x[i0], 20f)) + 2f))/"
              "((exp(min(x[i0], 20f))*(exp(min(x[i0], 20f)) + 2f)) + 2f))");
    return evaluate(dag, {x})->front();
  };
  const Tensor x = floats({8}, {-80, -20, -1, -1e-3, 0, 1, 19, 300});
  for (const bool in_steps : {false, true}) {
    const Tensor y = mish_of(in_steps, x);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double want = std::tanh(std::log1p(std::exp(std::min(x.get(i), 700.0))));
      EXPECT_NEAR(y.get(i), want, 1e-7 * want) << x.get(i);
    }
  }
}

TEST(Definition, OfOnePlusErfOrTanhIsSimplerThanItsParts) {
  const auto one_plus = [](UnaryKind kind, const Tensor& x) {
    ComputeDag dag;
    const OpId in = dag.add({"x", DType::f32, x.shape(), Placeholder{}});
    const OpId root = dag.add({"root", DType::f32, {}, Element{.body = float_const(std::sqrt(2.0))}});
    const OpId one = dag.add({"one", DType::f32, {}, Element{.body = float_const(1)}});
    const std::vector<TensorType> types = {x.type(), f32({})};
    const OpId divided = *define(dag, BinaryOperator{BinaryKind::div}, {in, root}, types, x.type(), "divided");
    const OpId inner = *define(dag, UnaryOperator{kind}, {divided}, {x.type()}, x.type(), "inner");
    dag.outputs = {*define(dag, BinaryOperator{BinaryKind::add}, {inner, one}, types, x.type(), "y")};
    EXPECT_EQ(without_dead_ops(dag).ops.size(), kind == UnaryKind::erf ? 2u : 3u);
    return evaluate(dag, {x})->front();
  };
  std::vector<double> values = {-INFINITY, INFINITY, -100, 100};
  for (int i = -700; i <= 700; ++i) values.push_back(i / 100.0);
  const Tensor x = floats({static_cast<std::int64_t>(values.size())}, values);
  const Tensor erf = one_plus(UnaryKind::erf, x), tanh = one_plus(UnaryKind::tanh, x);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(erf.get(i), std::erfc(-x.get(i) / std::sqrt(2.0)), 1.5e-7) << x.get(i);
    EXPECT_NEAR(tanh.get(i), 1 + std::tanh(x.get(i) / std::sqrt(2.0)), 1.5e-7) << x.get(i);
  }
}

TEST(Definition, RefusesAnEmptyResult) {
  ComputeDag dag;
  const OpId x = dag.add({"x", DType::f32, {0}, Placeholder{}});
  const auto result = define(dag, UnaryOperator{UnaryKind::relu}, {x}, {f32({0})}, f32({0}), "r");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "r: the result is f32[0], which is empty; there is nothing to compute");
}

}  // namespace
}  // namespace whet
