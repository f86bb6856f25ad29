#include "compute/winograd.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace {

ComputeDag convolution(const std::string& size, const std::string& pads, const std::string& out,
                       const std::string& dilation = "1") {
  const std::string x = "x = PLACEHOLDER [1, " + size + ", 5]\n";
  const std::string text = x + R"(w = PLACEHOLDER [3, 3, 5, 6] const
b = PLACEHOLDER [6] const
)" + pads + "conv(n, h, w_, k) += (pad[n, (h + (rh*" +
                           dilation + ")), (w_ + (rw*" + dilation + ")), rc]*w[rh, rw, rc, k]) for n in 1, " + out +
                           R"(, k in 6, rh in 3, rw in 3, rc in 5
out(n, h, w_, k) = max((conv[n, h, w_, k] + b[k]), 0f) for n in 1, )" +
                           out + R"(, k in 6
return out
)";
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << dag.error().message;
  return *dag;
}

ComputeDag padded(std::int64_t h, std::int64_t w) {
  const std::string rows = std::to_string(h), columns = std::to_string(w);
  return convolution(rows + ", " + columns,
                     "pad(n, y, x_, c) = select((y >= 1) && (y < " + std::to_string(h + 1) +
                         ") && (x_ >= 1) && (x_ < " + std::to_string(w + 1) +
                         "), x[n, (y - 1), (x_ - 1), c], 0f) for n in 1, y in " + std::to_string(h + 2) + ", x_ in " +
                         std::to_string(w + 2) + ", c in 5\n",
                     "h in " + rows + ", w_ in " + columns);
}

std::vector<Tensor> random_inputs(const ComputeDag& dag) {
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) inputs.push_back(Tensor::random({op.dtype, op.shape}, rng, -0.5, 0.5));
  return inputs;
}

OpId named(const ComputeDag& dag, const std::string& name) {
  for (std::size_t k = 0; k < dag.ops.size(); ++k)
    if (dag.ops[k].name == name) return OpId(static_cast<std::int64_t>(k));
  return OpId();
}

TEST(Winograd, ComputesTheSameConvolution) {
  for (const auto& [h, w] : {std::pair{8, 8}, {7, 7}, {5, 14}, {3, 2}, {1, 9}})
    for (const std::int64_t m : {2, 4}) {
      const ComputeDag direct = padded(h, w);
      const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), m);
      ASSERT_TRUE(fast.ok()) << fast.error().message;
      ASSERT_TRUE(verify(fast->dag).ok()) << verify(fast->dag).error().message;
      const std::vector<Tensor> inputs = random_inputs(direct);
      const auto want = evaluate(direct, inputs), got = evaluate(fast->dag, inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.error().message;
      EXPECT_LT(compare((*got)[0], (*want)[0]).relative, 1e-5) << h << "x" << w << " by " << m;
    }
}

TEST(Winograd, ReadsAnUnpaddedInputAndKeepsThePlaceholders) {
  const ComputeDag direct = convolution(
      "10, 7", "pad(n, y, x_, c) = (x[n, y, x_, c]*2f) for n in 1, y in 10, x_ in 7, c in 5\n", "h in 8, w_ in 5");
  const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), 4);
  ASSERT_TRUE(fast.ok()) << fast.error().message;
  EXPECT_EQ(fast->dag.op(OpId(2)).name, "b");
  EXPECT_EQ(fast->dag.op(fast->ops.conv).name, "conv");
  EXPECT_TRUE(is_constant(fast->dag, fast->ops.weights));
  const std::vector<Tensor> inputs = random_inputs(direct);
  EXPECT_LT(compare((*evaluate(fast->dag, inputs))[0], (*evaluate(direct, inputs))[0]).relative, 1e-5);
}

TEST(Winograd, ComputesDilatedConvolutions) {
  for (const auto& [h, w, dilation] : {std::tuple{8, 8, 2}, {16, 9, 2}, {7, 12, 3}, {3, 2, 5}})
    for (const std::int64_t m : {2, 4}) {
      const std::string d = std::to_string(dilation), y = std::to_string(h), x = std::to_string(w);
      const std::string tall = std::to_string(h + 2 * dilation), wide = std::to_string(w + 2 * dilation);
      const ComputeDag direct =
          convolution(tall + ", " + wide,
                      "pad(n, y, x_, c) = x[n, y, x_, c] for n in 1, y in " + tall + ", x_ in " + wide + ", c in 5\n",
                      "h in " + y + ", w_ in " + x, d);
      const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), m);
      ASSERT_TRUE(fast.ok()) << fast.error().message;
      EXPECT_EQ(fast->dilation, dilation);
      const std::vector<Tensor> inputs = random_inputs(direct);
      const auto want = evaluate(direct, inputs), got = evaluate(fast->dag, inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.error().message;
      EXPECT_LT(compare((*got)[0], (*want)[0]).relative, 1e-5) << h << "x" << w << " by " << m << ", dilation " << d;
    }
}

/// In blocks of `in` and `out` channels of 8 and 12, padded by one.
ComputeDag blocked(std::int64_t in, std::int64_t out) {
  const std::string i = std::to_string(in), o = std::to_string(out), ni = std::to_string(8 / in),
                    no = std::to_string(12 / out);
  const std::string text = "x = PLACEHOLDER [2, " + ni + ", 7, 6, " + i + R"(]
w = PLACEHOLDER [3, 3, 8, 12] const
b = PLACEHOLDER [12] const
pad(n, c, y, x_, cb) = select((y >= 1) && (y < 8) && (x_ >= 1) && (x_ < 7), x[n, c, (y - 1), (x_ - 1), cb], 0f) for n in 2, c in )" +
                           ni + ", y in 9, x_ in 8, cb in " + i + R"(
conv(n, k, h, w_, kb) += (pad[n, rc, (h + rh), (w_ + rw), rcb]*w[rh, rw, ((rc*)" +
                           i + ") + rcb), ((k*" + o + ") + kb)]) for n in 2, k in " + no + ", h in 7, w_ in 6, kb in " +
                           o + ", rc in " + ni + ", rh in 3, rw in 3, rcb in " + i + R"(
out(n, k, h, w_, kb) = max((conv[n, k, h, w_, kb] + b[((k*)" +
                           o + ") + kb)]), 0f) for n in 2, k in " + no + ", h in 7, w_ in 6, kb in " + o + R"(
return out
)";
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << dag.error().message << text;
  return *dag;
}

TEST(Winograd, ComputesConvolutionsOfBlocksOfChannels) {
  for (const auto& [in, out] : {std::pair{4, 4}, {2, 6}, {8, 4}, {4, 12}, {8, 12}, {1, 12}})
    for (const std::int64_t m : {2, 4}) {
      const ComputeDag direct = blocked(in, out);
      const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), m);
      ASSERT_TRUE(fast.ok()) << in << " to " << out << ": " << fast.error().message;
      ASSERT_TRUE(verify(fast->dag).ok()) << verify(fast->dag).error().message;
      EXPECT_EQ(fast->dag.op(fast->ops.input).shape.back(), 8);
      EXPECT_EQ(fast->dag.op(fast->ops.products).shape.back(), 12);
      const std::vector<Tensor> inputs = random_inputs(direct);
      const auto want = evaluate(direct, inputs), got = evaluate(fast->dag, inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.error().message;
      EXPECT_LT(compare((*got)[0], (*want)[0]).relative, 1e-5) << in << " to " << out << " by " << m;
    }
}

TEST(Winograd, RefusesWhatItIsNotFor) {
  const ComputeDag direct = padded(8, 8);
  const std::string no = "is no 3x3 convolution of stride 1 with constant weights, which Winograd's algorithm is for";
  EXPECT_EQ(winograd(direct, named(direct, "conv"), 3).error().message,
            "F(3 x 3, 3 x 3) is not known; expected 2 or 4");
  EXPECT_EQ(winograd(direct, named(direct, "out"), 4).error().message, no);
  EXPECT_EQ(winograd(direct, named(direct, "x"), 4).error().message, no);
  EXPECT_EQ(winograd(direct, OpId(99), 4).error().message, no);
  ComputeDag strided = direct;
  Expr& body = strided.op(named(direct, "conv")).element().body;
  body = substitute(body, [](VarId v) { return v.value == 1 ? var(v, "h") * 2 : Expr(); });
  EXPECT_EQ(winograd(strided, named(direct, "conv"), 4).error().message, no);
}

/// The same convolution of bf16, with an even number of channels.
ComputeDag of_bf16() {
  return *parse_dag(R"(x = PLACEHOLDER [1, 9, 8, 6] bf16
w = PLACEHOLDER [3, 3, 6, 5] bf16 const
pad(n, y, x_, c): bf16 = select((y >= 1) && (y < 10) && (x_ >= 1) && (x_ < 9), x[n, (y - 1), (x_ - 1), c], 0b) for n in 1, y in 11, x_ in 10, c in 6
conv(n, h, w_, k) += (f32(pad[n, (h + rh), (w_ + rw), rc])*f32(w[rh, rw, rc, k])) for n in 1, h in 9, w_ in 8, k in 5, rh in 3, rw in 3, rc in 6
return conv
)");
}

TEST(Winograd, WidensAConvolutionOfBf16) {
  const ComputeDag direct = of_bf16();
  for (const std::int64_t m : {2, 4}) {
    const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), m);
    ASSERT_TRUE(fast.ok()) << fast.error().message;
    ASSERT_TRUE(verify(fast->dag).ok()) << verify(fast->dag).error().message;
    EXPECT_EQ(fast->dag.op(fast->ops.input).dtype, DType::f32);
    const std::vector<Tensor> inputs = random_inputs(direct);
    EXPECT_LT(compare((*evaluate(fast->dag, inputs))[0], (*evaluate(direct, inputs))[0]).relative, 1e-5) << m;
  }
}

/// What is transformed is rounded: outputs err by roundings of 2^-9 in the mean, of which a sum has 54 and a tile adds up some.
TEST(Winograd, RoundsTilesToBf16WhereThatIsAskedFor) {
  const ComputeDag direct = of_bf16();
  const Result<WinogradDag> fast = winograd(direct, named(direct, "conv"), 2, WinogradTiles::bf16);
  ASSERT_TRUE(fast.ok()) << fast.error().message;
  ASSERT_TRUE(verify(fast->dag).ok()) << verify(fast->dag).error().message;
  EXPECT_EQ(fast->dag.op(fast->ops.input).dtype, DType::bf16);
  EXPECT_EQ(fast->dag.op(fast->ops.weights).dtype, DType::bf16);
  EXPECT_EQ(fast->dag.op(fast->ops.products).dtype, DType::f32);
  const std::vector<Tensor> inputs = random_inputs(direct);
  const double error = compare((*evaluate(fast->dag, inputs))[0], (*evaluate(direct, inputs))[0]).relative;
  EXPECT_GT(error, 1e-4);
  EXPECT_LT(error, 1e-2);
  EXPECT_EQ(winograd(direct, named(direct, "conv"), 4, WinogradTiles::bf16).error().message,
            "would err eight times as much in bf16 with tiles of 4 as without; expected 2");
  const ComputeDag single = padded(8, 8);
  EXPECT_EQ(winograd(single, named(single, "conv"), 2, WinogradTiles::bf16).error().message,
            "does not multiply bf16, so that its tiles stay f32");
}

}  // namespace
}  // namespace whet
