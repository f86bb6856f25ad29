#include <cmath>
#include <limits>
#include <map>

#include "import_torch/testing/answers.h"

/// Operators that are a few others: orders and counts, losses, products, quantized numbers, bodies.
namespace whet::torch {
namespace torch_small_test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();
const Tensor& grid() {
  static const Tensor x = f32({2, 4}, {4, 1, 7, 2, 3, 9, 5, 9});
  return x;
}

TEST(TorchOrder, MediansAndTheKthOfAnOrder) {
  EXPECT_EQ(results("aten.median.dim", "self=%a dim=1", {grid()}, 2), (std::vector<Values>{{2, 5}, {3, 2}}));
  EXPECT_EQ(result("aten.median.default", "self=%a", {grid()}), Values{4});
  EXPECT_EQ(results("aten.kthvalue.default", "self=%a k=1 dim=0 keepdim=true", {grid()}, 2),
            (std::vector<Values>{{3, 1, 5, 2}, {1, 0, 1, 0}}));
}
TEST(TorchOrder, QuantilesLieBetweenElements) {
  EXPECT_EQ(result("aten.quantile.scalar", "self=%a q=0.5 dim=1", {grid()}), (Values{3, 7}));
  EXPECT_EQ(result("aten.quantile.scalar", "self=%a q=0.5 dim=1 interpolation='lower'", {grid()}), (Values{2, 5}));
  Pt2 p;
  p.input("x", {2, 4})
      .weight("q", f32({2}, {0, 1}))
      .node("aten.quantile.default", "self=%x q=%q dim=0 keepdim=true", {"y"})
      .output("y")
      .said("y", {2, 1, 4});
  EXPECT_EQ(answers(p, {grid()})[0], (Values{3, 1, 5, 2, 4, 9, 7, 9}));
}
TEST(TorchOrder, NanIsTheGreatestAndWinsInTheMiddle) {
  const Tensor x = f32({4}, {2, kNan, 1, kNan});
  EXPECT_EQ(results("aten.kthvalue.default", "self=%a k=2", {x}, 2), (std::vector<Values>{{2}, {0}}));
  EXPECT_TRUE(std::isnan(result("aten.kthvalue.default", "self=%a k=3", {x})[0]));
  const auto median = results("aten.median.dim", "self=%a dim=0", {x}, 2);
  EXPECT_TRUE(std::isnan(median[0][0]));
  EXPECT_EQ(median[1], Values{1});
  EXPECT_TRUE(std::isnan(result("aten.quantile.scalar", "self=%a q=0.0", {x})[0]));
  EXPECT_EQ(result("aten.histc.default", "self=%a bins=2 min=0 max=2", {x}), (Values{0, 2}));
}
TEST(TorchOrder, AScalarIsItsOwnQuantile) {
  EXPECT_EQ(result("aten.quantile.scalar", "self=%a q=0.5 keepdim=true", {f32({}, {3})}), Values{3});
}
TEST(TorchOrder, RunningExtremesHaveTheirLastPlaces) {
  EXPECT_EQ(results("aten.cummax.default", "self=%a dim=1", {grid()}, 2),
            (std::vector<Values>{{4, 4, 7, 7, 3, 9, 9, 9}, {0, 0, 2, 2, 0, 1, 1, 3}}));
  EXPECT_EQ(results("aten.cummin.default", "self=%a dim=0", {i64({3, 1}, {2, 1, 1})}, 2),
            (std::vector<Values>{{2, 1, 1}, {0, 1, 2}}));
}
TEST(TorchCounts, OfPlacesAndOfRanges) {
  Pt2 p;
  p.input("x", {5}, 5).node("aten.bincount.default", "self=%x minlength=4", {"b"});
  p.node("aten.slice.Tensor", "self=%b dim=0 start=0 end=4", {"y"}).output("y");
  EXPECT_EQ(answers(p, {i64({5}, {1, 3, 1, 0, 7})})[0], (Values{1, 2, 0, 1}));
  Pt2 last;
  last.input("x", {5}, 5).node("aten.bincount.default", "self=%x minlength=4", {"b"});
  last.node("aten.slice.Tensor", "self=%b dim=0 start=-2 end=4", {"y"}).output("y");
  EXPECT_NE(refusal(last).find("the size of its result depends on values"), std::string::npos);
  Pt2 open;
  open.input("x", {5}, 5).node("aten.bincount.default", "self=%x", {"y"}).output("y");
  EXPECT_NE(
      refusal(open).find("the size of its result depends on values; in Python: torch.bincount(x, minlength=n)[:n]"),
      std::string::npos);
  EXPECT_EQ(result("aten.histc.default", "self=%a bins=2 min=1 max=5", {f32({6}, {0.5, 1, 2.9, 3, 5, 6})}),
            (Values{2, 2}));
}
TEST(TorchCounts, WhatIsNoNumberCountsNothing) {
  EXPECT_EQ(result("aten.nanmean.default", "self=%a", {f32({3}, {1, kNan, 3})}), Values{2});
  EXPECT_EQ(result("aten.nansum.default", "self=%a dim=[0]", {f32({3}, {1, kNan, 3})}), Values{4});
  expect_near(results("aten.var_mean.dim", "self=%a dim=[1]", {grid()}, 2)[0], {7, 9});
  expect_near(results("aten.std_mean.default", "self=%a unbiased=false", {f32({2}, {1, 5})}, 2)[0], {2});
}
TEST(TorchCounts, OfDifferentSlices) {
  const std::string wanted = " return_inverse=true return_counts=true";
  EXPECT_EQ(results("aten.unique_dim.default", "self=%a dim=0" + wanted, {f32({4, 2}, {3, 1, 1, 2, 3, 1, 1, 0})}, 3),
            (std::vector<Values>{{1, 0, 1, 2, 3, 1, 3, 1}, {2, 1, 2, 0}, {1, 1, 2, 0}, {3}}));
  EXPECT_EQ(results("aten.unique_dim.default", "self=%a dim=1" + wanted, {i64({2, 3}, {1, 0, 1, 2, 5, 2})}, 3),
            (std::vector<Values>{{0, 1, 1, 5, 2, 2}, {1, 0, 1}, {1, 2, 0}, {2}}));
  Pt2 p;
  p.input("x", {4096, 5}).node("aten.unique_dim.default", "self=%x dim=0", {"y"}).output("y");
  EXPECT_NE(refusal(p).find("finds the different rows of f32[4096x5]"), std::string::npos) << refusal(p);
}
TEST(TorchRepeats, AreKnownOrHaveASize) {
  Pt2 p;
  p.weight("r", i64({2}, {2, 1})).input("x", {2, 1}).input("n", {2}, 5);
  p.node("aten.repeat_interleave.self_Tensor", "self=%x repeats=%r dim=0", {"y"}).output("y");
  p.node("aten.repeat_interleave.self_Tensor", "self=%x repeats=%n dim=0 output_size=4", {"z"}).output("z");
  p.node("aten.repeat_interleave.Tensor", "repeats=%n output_size=4", {"w"}).output("w");
  EXPECT_EQ(answers(p, {f32({2, 1}, {5, 6}), i64({2}, {1, 3})}),
            (std::vector<Values>{{5, 5, 6}, {5, 6, 6, 6}, {0, 1, 1, 1}}));
}
TEST(TorchLosses, AreTheirFormulas) {
  const std::vector<Tensor> two = {f32({2}, {1, 4}), f32({2}, {2, 1})};
  EXPECT_EQ(result("aten.mse_loss.default", "self=%a target=%b", two), Values{5});
  EXPECT_EQ(result("aten.l1_loss.default", "self=%a target=%b reduction=2", two), Values{4});
  EXPECT_EQ(result("aten.smooth_l1_loss.default", "self=%a target=%b reduction=0 beta=2.0", two), (Values{0.25, 2}));
  EXPECT_EQ(result("aten.huber_loss.default", "self=%a target=%b reduction=0 delta=2.0", two), (Values{0.5, 4}));
  expect_near(result("aten.binary_cross_entropy_with_logits.default", "self=%a target=%b reduction=0",
                     {f32({2}, {0, 2}), f32({2}, {1, 0})}),
              {std::log(2), 2 + std::log1p(std::exp(-2))});
  const Tensor logits = f32({2, 3}, {1, 1, 1, 0, 0, std::log(2)});
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b", {logits, i64({2}, {1, 2})}),
              {(std::log(3) + std::log(2)) / 2});
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b", {logits, i64({2}, {-100, 2})}),
              {std::log(2)});
  // What is ignored has no number.
  const Tensor none = f32({2, 2}, {-kInfinite, -1, -2, -3});
  EXPECT_EQ(result("aten.nll_loss.default", "self=%a target=%b", {none, i64({2}, {-100, 1})}), Values{3});
  EXPECT_EQ(result("aten.nll_loss.default", "self=%a target=%b reduction=0 ignore_index=0", {none, i64({2}, {0, 1})}),
            (Values{0, 3}));
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b", {logits, f32({2, 3}, {0, 1, 0, 0, 0, 1})}),
              {(std::log(3) + std::log(2)) / 2});
}
TEST(TorchLosses, OfProbabilitiesAreTheirFormulas) {
  expect_near(result("aten.binary_cross_entropy.default", "self=%a target=%b reduction=0",
                     {f32({3}, {0.5, 0, 0.25}), f32({3}, {1, 1, 0})}),
              {std::log(2), 100, -std::log(0.75)});
  expect_near(
      result("aten.kl_div.default", "self=%a target=%b reduction=0", {f32({2}, {-1, -kInfinite}), f32({2}, {0.5, 0})}),
      {0.5 * (std::log(0.5) + 1), 0});
  expect_near(
      result("aten.kl_div.default", "self=%a target=%b reduction=2 log_target=true", {f32({1}, {-1}), f32({1}, {0})}),
      {1});
  const Tensor logits = f32({2, 2}, {0, 0, 0, std::log(3)});
  const double mean = (std::log(0.25) + std::log(0.75)) / 2;
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b reduction=0 label_smoothing=0.1",
                     {logits, i64({2}, {0, 1})}),
              {std::log(2), -0.9 * std::log(0.75) - 0.1 * mean});
  // Shares that are not 1 together.
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b reduction=0 label_smoothing=0.1",
                     {f32({1, 2}, {0, std::log(3)}), f32({1, 2}, {0.5, 0.2})}),
              {-(0.9 * 0.5 + 0.05) * std::log(0.25) - (0.9 * 0.2 + 0.05) * std::log(0.75)});
  // A number that is ignored and that the targets' type does not hold.
  expect_near(result("aten.cross_entropy_loss.default", "self=%a target=%b reduction=0",
                     {logits, Tensor::of(DType::u8, {2}, Values{0, 1})}),
              {std::log(2), -std::log(0.75)});
}
TEST(TorchProducts, OfGroupsOfRows) {
  const Tensor x = f32({4, 1}, {1, 2, 3, 4}), w = f32({3, 1, 2}, {1, 10, 2, 20, 3, 30});
  const Tensor ends = Tensor::of(DType::i32, {3}, Values{1, 1, 3});
  EXPECT_EQ(result("aten._grouped_mm.default", "self=%a mat2=%b offs=%c", {x, w, ends}),
            (Values{1, 10, 6, 60, 9, 90, 0, 0}));
  EXPECT_EQ(result("aten._grouped_mm.default", "self=%a mat2=%b", {f32({3, 1, 1}, {1, 2, 3}), w}),
            (Values{1, 10, 4, 40, 9, 90}));
}
TEST(TorchProducts, OfOtherForms) {
  const Tensor b = f32({2, 4}, {1, 0, 0, 1, 0, 1, 1, 0});
  EXPECT_EQ(result("aten.tensordot.default", "self=%a other=%b dims_self=[1] dims_other=[1]", {grid(), b}),
            (Values{6, 8, 12, 14}));
  EXPECT_EQ(result("aten.tensordot.default", "self=%a other=%b dims_self=[0,1] dims_other=[0,1]", {grid(), b}),
            (Values{20}));
  EXPECT_EQ(result("aten.inner.default", "self=%a other=%b", {grid(), b}), (Values{6, 8, 12, 14}));
  EXPECT_EQ(result("aten.bilinear.default", "input1=%a input2=%b weight=%c bias=%d",
                   {f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4}), f32({1, 2, 2}, {1, 0, 0, 1}), f32({1}, {5})}),
            (Values{16}));
  EXPECT_EQ(result("aten.addbmm.default", "self=%a batch1=%b batch2=%c beta=2 alpha=3",
                   {f32({1, 1}, {1}), f32({2, 1, 1}, {1, 2}), f32({2, 1, 1}, {3, 4})}),
            (Values{35}));
  EXPECT_EQ(result("aten.conv_tbc.default", "self=%a weight=%b bias=%c pad=1",
                   {f32({2, 1, 1}, {1, 2}), f32({3, 1, 1}, {1, 10, 100}), f32({1}, {0})}),
            (Values{210, 21}));
}
TEST(TorchMatrices, AreTurnedAndTakenApart) {
  EXPECT_EQ(result("aten.diff.default", "self=%a n=2 dim=1", {grid()}), (Values{9, -11, -10, 8}));
  EXPECT_EQ(result("aten.trace.default", "self=%a", {grid()}), Values{13});
  EXPECT_EQ(result("aten.diag.default", "self=%a diagonal=1", {grid()}), (Values{1, 5}));
  EXPECT_EQ(result("aten.diag.default", "self=%a", {f32({2}, {3, 4})}), (Values{3, 0, 0, 4}));
  EXPECT_EQ(result("aten.rot90.default", "self=%a k=1 dims=[0,1]", {f32({2, 2}, {1, 2, 3, 4})}), (Values{2, 4, 1, 3}));
  EXPECT_EQ(result("aten.rot90.default", "self=%a k=-1 dims=[0,1]", {f32({2, 2}, {1, 2, 3, 4})}), (Values{3, 1, 4, 2}));
  EXPECT_EQ(results("aten.hsplit.int", "self=%a sections=2", {grid()}, 2)[1], (Values{7, 2, 5, 9}));
  EXPECT_EQ(results("aten.vsplit.array", "self=%a indices=[1]", {grid()}, 2)[0], (Values{4, 1, 7, 2}));
  EXPECT_EQ(result("aten.mH.default", "self=%a", {f32({1, 2}, {1, 2})}), (Values{1, 2}));
  EXPECT_EQ(result("aten.column_stack.default", "tensors=(%a,%b)", {f32({2}, {1, 2}), f32({2}, {3, 4})}),
            (Values{1, 3, 2, 4}));
  EXPECT_EQ(result("aten.linalg_norm.default", "self=%a ord=1 dim=[0,1]", {f32({2, 2}, {1, -2, 3, 4})}), Values{6});
  EXPECT_EQ(result("aten.linalg_norm.default", "self=%a", {f32({2}, {3, 4})}), Values{5});
  EXPECT_EQ(result("aten.linalg_norm.default", "self=%a ord=1 dim=[1,0]", {f32({2, 2}, {1, -2, 3, 4})}), Values{7});
  EXPECT_EQ(result("aten.linalg_norm.default", "self=%a ord=1", {f32({2, 2}, {1, -2, 3, 4})}), Values{6});
  const Tensor two = f32({2, 1, 2}, {1, -2, 3, 4});
  EXPECT_EQ(result("aten.linalg_matrix_norm.default", "self=%a ord=1", {two}), (Values{2, 4}));
  EXPECT_EQ(result("aten.linalg_matrix_norm.str_ord", "self=%a", {f32({2, 1, 2}, {3, 4, 6, 8})}), (Values{5, 10}));
  EXPECT_EQ(result("aten.take.default", "self=%a index=%b", {grid(), i64({2}, {5, -1})}), (Values{9, 9}));
}
TEST(TorchElements, Of16BitsWrap) {
  const Tensor x = i64({4}, {40000, -1, -40000, 7});
  EXPECT_EQ(result("aten._to_copy.default", "self=%a dtype=:3", {x}), (Values{-25536, -1, 25536, 7}));
  EXPECT_EQ(result("aten.to.dtype", "self=%a dtype=:28", {x}), (Values{40000, 65535, 25536, 7}));
}
TEST(TorchElements, Of16BitsWrapInArithmetic) {
  Pt2 p;
  p.input("a", {2}, 3).input("b", {2}, 3).input("u", {2}, 28).input("x", {2}, 5);
  p.node("aten.add.Tensor", "self=%a other=%b", {"sum"}).said("sum", {2}, 3).output("sum");
  p.node("aten.mul.Tensor", "self=%u other=%u", {"square"}).said("square", {2}, 28).output("square");
  p.node("aten.type_as.default", "self=%x other=%a", {"typed"}).said("typed", {2}, 3).output("typed");
  p.node("aten.sum.dim_IntList", "self=%x dim=[0] dtype=:3", {"all"}).said("all", {}, 3).output("all");
  const auto i32 = [](const Values& values) { return Tensor::of(DType::i32, {2}, values); };
  EXPECT_EQ(answers(p, {i32({32767, -5}), i32({1, 2}), i32({65535, 300}), i64({2}, {40000, 30000})}),
            (std::vector<Values>{{-32768, -3}, {1, 24464}, {-25536, 30000}, {4464}}));
}
TEST(TorchElements, GammaAndErfHaveTheirInverses) {
  expect_near(result("aten.lgamma.default", "self=%a", {f32({4}, {0.5, 1, 5, -0.5})}),
              {std::lgamma(0.5), 0, std::log(24), std::lgamma(-0.5)});
  expect_near(result("aten.erfinv.default", "self=%a", {f32({2}, {std::erf(0.7), -std::erf(2.0)})}), {0.7, -2}, 2e-5);
}
/// Bytes of torch's types by their numbers.
const std::map<int, std::int64_t>& bytes_of_types() {
  static const std::map<int, std::int64_t> kBytes = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {6, 2}, {7, 4}};
  return kBytes;
}
/// x taken as `type` and back as `own`.
Values there_and_back(const Tensor& x, int own, int type) {
  Pt2 p;
  p.input("x", x.shape(), own).node("aten.view.dtype", "self=%x dtype=:" + std::to_string(type), {"v"});
  Shape shape = x.shape();
  shape.back() = shape.back() * bytes_of_types().at(own) / bytes_of_types().at(type);
  p.said("v", shape, type).node("aten.view.dtype", "self=%v dtype=:" + std::to_string(own), {"y"});
  const auto all = answers(p.said("y", x.shape(), own).output("y"), {x});
  return all.empty() ? Values{} : all[0];
}
TEST(TorchBitViews, OfFloatsAreTheirBits) {
  const Values x = {1, -2.5, 0, -0.0, 1e-45, -3e-39, 3.4e38, kInfinite};
  const Shape shape = {8};
  Values want;
  for (const double each : x) want.push_back(std::bit_cast<std::int32_t>(static_cast<float>(each)));
  EXPECT_EQ(result("aten.view.dtype", "self=%a dtype=:4", {f32(shape, x)}), want);
  const Values back = result("aten.view.dtype", "self=%a dtype=:7", {Tensor::of(DType::i32, shape, want)});
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(back[i], static_cast<float>(x[i]));
  EXPECT_EQ(result("aten.view.dtype", "self=%a dtype=:4", {f32({1}, {kNan})}), Values{0x7fc00000});
  EXPECT_TRUE(std::isnan(result("aten.view.dtype", "self=%a dtype=:7", {Tensor::of(DType::i32, {1}, Values{-1})})[0]));
}
TEST(TorchBitViews, HaveTheLowestBytesFirst) {
  EXPECT_EQ(result("aten.view.dtype", "self=%a dtype=:1", {Tensor::of(DType::i32, {2}, Values{0x04030201, -1})}),
            (Values{1, 2, 3, 4, 255, 255, 255, 255}));
  EXPECT_EQ(result("aten.view.dtype", "self=%a dtype=:5",
                   {Tensor::of(DType::i8, {8}, Values{-2, -1, -1, -1, -1, -1, -1, -1})}),
            Values{-2});
}
TEST(TorchBitViews, GoBackFromEveryType) {
  const Values numbers = {100, -3, 7, 0, -128, 127, 1, 2};
  const std::map<int, DType> kTypes = {
      {2, DType::i8}, {3, DType::i32}, {4, DType::i32}, {5, DType::i64}, {7, DType::f32}};
  for (const auto& [own, dtype] : kTypes)
    for (const auto& [type, bytes] : bytes_of_types()) {
      if (type >= 6 && own != 7) continue;  // bits of integers may be no number
      EXPECT_EQ(there_and_back(Tensor::of(dtype, {1, 8}, numbers), own, type), numbers) << own << " " << type;
    }
}
TEST(TorchBitViews, ThatDoNotDivideAreRefused) {
  Pt2 p;
  p.input("x", {3}, 1).node("aten.view.dtype", "self=%x dtype=:4", {"y"}).output("y");
  EXPECT_NE(refusal(p).find("takes each 4 numbers of i64[3] as one"), std::string::npos) << refusal(p);
  Pt2 wide;
  wide.input("x", {3}, 8).node("aten.view.dtype", "self=%x dtype=:5", {"y"}).output("y");
  EXPECT_NE(refusal(wide).find("takes bits of f64, which is not supported"), std::string::npos);
}
TEST(TorchElements, AreCompared) {
  EXPECT_EQ(result("aten.hypot.default", "self=%a other=%b", {f32({1}, {3}), f32({1}, {4})}), Values{5});
  // Squares of these are infinite.
  const double far = result("aten.hypot.default", "self=%a other=%b", {f32({1}, {3e30}), f32({1}, {4e30})})[0];
  EXPECT_NEAR(far / 5e30, 1, 1e-6);
  EXPECT_EQ(result("aten.copysign.Tensor", "self=%a other=%b", {f32({3}, {1, -2, 3}), f32({3}, {-0.0, 5, -1})}),
            (Values{-1, 2, -3}));
  EXPECT_EQ(
      result("aten.isclose.default", "self=%a other=%b", {f32({3}, {1, 1, kNan}), f32({3}, {1.000001, 1.1, kNan})}),
      (Values{1, 0, 0}));
  const Tensor ends = f32({3}, {-kInfinite, 1, kInfinite});
  EXPECT_EQ(result("aten.isneginf.default", "self=%a", {ends}), (Values{1, 0, 0}));
  EXPECT_EQ(result("aten.isposinf.default", "self=%a", {ends}), (Values{0, 0, 1}));
  EXPECT_EQ(result("aten.isin.Tensor_Scalar", "elements=%a test_element=1", {f32({2}, {1, 2})}), (Values{1, 0}));
  EXPECT_EQ(result("aten.searchsorted.Scalar", "sorted_sequence=%a self=2.5", {f32({3}, {1, 2, 3})}), Values{2});
  EXPECT_EQ(result("aten.bucketize.Scalar", "self=2 boundaries=%a right=true", {f32({3}, {1, 2, 3})}), Values{2});
  EXPECT_EQ(result("aten.clamp_min.Tensor", "self=%a min=%b", {f32({2}, {1, 5}), f32({2}, {2, 2})}), (Values{2, 5}));
}
TEST(TorchQuantized, NumbersStayFloats) {
  expect_near(result("aten.fake_quantize_per_tensor_affine.default",
                     "self=%a scale=0.5 zero_point=1 quant_min=0 quant_max=4", {f32({4}, {-3, 0.3, 0.8, 9})}),
              {-0.5, 0.5, 1, 1.5});
  expect_near(result("aten.fake_quantize_per_channel_affine.default",
                     "self=%a scale=%b zero_point=%c axis=0 quant_min=-2 quant_max=2",
                     {f32({2, 1}, {9, 9}), f32({2}, {1, 2}), Tensor::of(DType::i32, {2}, Values{0, 0})}),
              {2, 4});
  EXPECT_EQ(result("aten._int_mm.default", "self=%a mat2=%b",
                   {Tensor::of(DType::i8, {1, 2}, Values{100, -100}), Tensor::of(DType::i8, {2, 1}, Values{100, 50})}),
            Values{5000});
  EXPECT_EQ(result("aten._weight_int8pack_mm.default", "self=%a mat2=%b scales=%c",
                   {f32({1, 2}, {1, 2}), Tensor::of(DType::i8, {2, 2}, Values{1, 2, 3, 4}), f32({2}, {1, 0.5})}),
            (Values{5, 5.5}));
}
TEST(TorchBodies, AreScanned) {
  Pt2 body, p;
  body.input("h", {1}).input("x", {1}).input("w", {1}).node("aten.mul.Tensor", "self=%h other=%w", {"m"});
  body.node("aten.add.Tensor", "self=%m other=%x", {"s"})
      .node("aten.neg.default", "self=%s", {"n"})
      .output("s")
      .output("n");
  p.input("h", {1}).input("x", {3, 1}).input("w", {1}).body("f", body);
  p.node("higher_order.scan", "=@f =(%h) =(%x) =(%w)", {"y", "z"}).output("y").output("z");
  EXPECT_EQ(answers(p, {f32({1}, {1}), f32({3, 1}, {1, 2, 3}), f32({1}, {2})}),
            (std::vector<Values>{{19}, {-3, -8, -19}}));
}
TEST(TorchBodies, AreScannedInPairs) {
  Pt2 body, p;
  body.input("a", {1}).input("b", {1}).input("w", {1}).node("aten.mul.Tensor", "self=%b other=%w", {"m"});
  body.node("aten.add.Tensor", "self=%a other=%m", {"s"}).output("s");
  p.input("x", {3, 1}).input("w", {1}).body("f", body);
  p.node("higher_order.associative_scan", "=@f =(%x) =(%w)", {"y"}).output("y");
  EXPECT_EQ(answers(p, {f32({3, 1}, {1, 2, 3}), f32({1}, {10})})[0], (Values{1, 21, 51}));
}
TEST(TorchBodies, WalkThroughRowsOfOneLength) {
  Pt2 body, p;
  body.input("a", {1}).input("b", {1}).node("aten.add.Tensor", "self=%a other=%b", {"s"}).output("s");
  p.input("x", {3, 1}).input("z", {2, 1}).body("f", body);
  p.node("higher_order.map_impl", "=@f =(%x,%z) =[]", {"y"}).output("y");
  EXPECT_NE(refusal(p).find("its sequences have 3 and 2 steps"), std::string::npos) << refusal(p);
}
/// A mask of keys up to a query's own, where both are numbers to the program.
TEST(TorchBodies, OfVmapHaveTheirDimensionsBefore) {
  const std::string vmap = "torch._functorch.predispatch.";
  Pt2 p;
  p.input("q", {3}, 5).input("k", {2}, 5).node(vmap + "_vmap_increment_nesting", "=3 ='error'", {});
  p.node(vmap + "_add_batch_dim", "=%q =0 =1", {"a"}).node(vmap + "_add_batch_dim", "=%k =0 =2", {"b"});
  p.said("a", {}, 5).said("b", {}, 5).node("aten.le.Tensor", "self=%b other=%a", {"m"}).said("m", {}, 12);
  p.node(vmap + "_remove_batch_dim", "=%m =2 =2 =0", {"r"}).said("r", {2}, 12);
  p.node(vmap + "_remove_batch_dim", "=%r =1 =3 =0", {"y"}).said("y", {3, 2}, 12).output("y");
  EXPECT_EQ(answers(p, {i64({3}, {0, 1, 2}), i64({2}, {0, 2})})[0], (Values{1, 0, 1, 0, 1, 1}));
}
/// A row of x is what vmap's body sees, and w is the same for all.
std::string inside_of_vmap(const std::string& op, const std::string& arguments, const Shape& shape) {
  const std::string vmap = "torch._functorch.predispatch.";
  Pt2 p;
  p.input("x", {3, 2}).input("w", {3}).node(vmap + "_vmap_increment_nesting", "=3 ='error'", {});
  p.node(vmap + "_add_batch_dim", "=%x =0 =1", {"a"})
      .said("a", {2})
      .node("aten.select.int", "self=%x dim=1 index=0", {"s"});
  p.said("s", {3}).node(vmap + "_add_batch_dim", "=%s =0 =1", {"n"}).said("n", {});
  p.node(op, arguments, {"y"}).said("y", shape).output("y");
  return refusal(p);
}
TEST(TorchBodies, OfVmapComputeEachElementAlone) {
  const auto alone = [](const std::string& op, const std::string& arguments, const Shape& shape) {
    return inside_of_vmap(op, arguments, shape).find("inside of vmap: it does not compute each element alone") !=
           std::string::npos;
  };
  EXPECT_TRUE(alone("aten.softmax.int", "self=%a dim=0", {2}));
  EXPECT_TRUE(alone("aten.cumsum.default", "self=%a dim=0", {2}));
  EXPECT_TRUE(alone("aten.flip.default", "self=%a dims=[0]", {2}));
  EXPECT_TRUE(alone("aten.sum.default", "self=%a", {}));
  EXPECT_NE(inside_of_vmap("aten.add.Tensor", "self=%n other=%w", {3}).find("tensors of different ranks"),
            std::string::npos);
  EXPECT_EQ(inside_of_vmap("aten.mul.Tensor", "self=%a other=2.0", {2}), "");
  EXPECT_NE(
      inside_of_vmap("torch._functorch.predispatch._add_batch_dim", "=%w =0 =1000000000", {}).find("\"level\" is"),
      std::string::npos);
}
TEST(TorchRecurrent, CellsTakeOneStep) {
  const std::vector<Tensor> given = {f32({1, 1}, {2}), f32({1, 1}, {3}), f32({1, 1}, {1}), f32({1, 1}, {-1})};
  EXPECT_EQ(result("aten.rnn_relu_cell.default", "input=%a hx=%b w_ih=%c w_hh=%d", given), Values{0});
  expect_near(result("aten.rnn_tanh_cell.default", "input=%a hx=%b w_ih=%c w_hh=%d", given), {std::tanh(-1.0)});
}
/// One step of a cell of one number whose gates are all 0: i = f = o = 1/2, c' = c / 2; the state is tanh(c') / 2 by [2, 3].
TEST(TorchRecurrent, StatesAreProjected) {
  Pt2 p;
  p.input("x", {1, 1, 1}).input("h", {1, 1, 2}).input("c", {1, 1, 1});
  p.weight("w", f32({4, 1}, {0, 0, 0, 0})).weight("u", f32({4, 2}, Values(8, 0))).weight("r", f32({2, 1}, {2, 3}));
  p.node(
      "aten.lstm.input",
      "input=%x hx=(%h,%c) params=(%w,%u,%r) has_biases=false num_layers=1 dropout=0.0 train=false bidirectional=false "
      "batch_first=false",
      {"y", "s", "m"});
  p.output("y").output("s").output("m");
  const double state = std::tanh(2.0) / 2;
  const auto all = answers(p, {f32({1, 1, 1}, {5}), f32({1, 1, 2}, {7, 8}), f32({1, 1, 1}, {4})});
  ASSERT_EQ(all.size(), 3u);
  expect_near(all[0], {2 * state, 3 * state});
  expect_near(all[1], {2 * state, 3 * state});
  expect_near(all[2], {2});
}
TEST(TorchStrides, OfTheFileSayHowATensorLies) {
  Pt2 p;
  p.input("x", {2, 3, 4}).node("aten.mean.dim", "self=%x dim=[2] keepdim=true", {"m"}).said("m", {2, 3, 1});
  p.node("aten.as_strided.default", "self=%m size=[2,3] stride=[3,1]", {"y"}).output("y");
  Values x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  EXPECT_EQ(answers(p, {f32({2, 3, 4}, x)})[0], (Values{1.5, 5.5, 9.5, 13.5, 17.5, 21.5}));
}

}  // namespace torch_small_test
}  // namespace whet::torch
