#include <cmath>

#include "import_torch/testing/answers.h"

/// Arithmetic of complex numbers, and Fourier transforms, against their definitions.
namespace whet::torch {
namespace torch_complex_test {

/// A program of complex inputs z and w, [2] each, of pairs; `op` makes y of them.
Pt2 of_two(const std::string& op, const std::string& arguments) {
  Pt2 p;
  p.input("a", {2, 2}).input("b", {2, 2});
  p.node("aten.view_as_complex.default", "self=%a", {"z"}).node("aten.view_as_complex.default", "self=%b", {"w"});
  p.node(op, arguments, {"y"});
  return p;
}
/// The pairs of y where z is 1 + 2i and 3 - i, and w is 2 - i and i.
Values pairs(const std::string& op, const std::string& arguments) {
  Pt2 p = of_two(op, arguments);
  p.node("aten.view_as_real.default", "self=%y", {"r"}).output("r");
  const auto all = answers(p, {f32({2, 2}, {1, 2, 3, -1}), f32({2, 2}, {2, -1, 0, 1})});
  return all.empty() ? Values{} : all[0];
}

TEST(TorchComplexNumbers, AreAddedMultipliedAndDivided) {
  EXPECT_EQ(pairs("aten.add.Tensor", "self=%z other=%w"), (Values{3, 1, 3, 0}));
  EXPECT_EQ(pairs("aten.sub.Tensor", "self=%z other=%w alpha=2"), (Values{-3, 4, 3, -3}));
  EXPECT_EQ(pairs("aten.add.Tensor", "self=%z other=10"), (Values{11, 2, 13, -1}));
  EXPECT_EQ(pairs("aten.mul.Tensor", "self=%z other=%w"), (Values{4, 3, 1, 3}));
  EXPECT_EQ(pairs("aten.mul.Tensor", "self=%z other=%z"), (Values{-3, 4, 8, -6}));
  EXPECT_EQ(pairs("aten.mul.Tensor", "self=%z other=3"), (Values{3, 6, 9, -3}));
  expect_near(pairs("aten.div.Tensor", "self=%z other=%w"), {0, 1, -1, -3});
  EXPECT_EQ(pairs("aten.div.Tensor", "self=%z other=2"), (Values{0.5, 1, 1.5, -0.5}));
  EXPECT_EQ(pairs("aten.pow.Tensor_Scalar", "self=%z exponent=2"), (Values{-3, 4, 8, -6}));
  expect_near(pairs("aten.reciprocal.default", "self=%w"), {0.4, 0.2, 0, -1});
  EXPECT_EQ(pairs("aten._conj.default", "self=%z"), (Values{1, -2, 3, 1}));
  EXPECT_EQ(pairs("aten.neg.default", "self=%z"), (Values{-1, -2, -3, 1}));
  const double e = std::exp(1.0);
  expect_near(pairs("aten.exp.default", "self=%z"),
              {e * std::cos(2), e * std::sin(2), e * e * e * std::cos(1), -e * e * e * std::sin(1)});
}
TEST(TorchComplexNumbers, AreMovedBesideRealOnes) {
  EXPECT_EQ(pairs("aten.cat.default", "tensors=(%z,%w)"), (Values{1, 2, 3, -1, 2, -1, 0, 1}));
  EXPECT_EQ(pairs("aten.sum.dim_IntList", "self=%z dim=[0]"), (Values{4, 1}));
  EXPECT_EQ(pairs("aten.dot.default", "self=%z tensor=%w"), (Values{5, 6}));
  EXPECT_EQ(pairs("aten.zeros.default", "size=[1] dtype=:10"), (Values{0, 0}));
  Pt2 p;
  p.input("x", {2}).input("s", {2, 2}).node("aten.view_as_complex.default", "self=%s", {"c"});
  p.node("aten.to.dtype", "self=%x dtype=:10", {"z"}).node("aten.cat.default", "tensors=(%z,%c)", {"y"});
  p.node("aten.view_as_real.default", "self=%y", {"r"}).output("r");
  EXPECT_EQ(answers(p, {f32({2}, {7, 8}), f32({2, 2}, {1, 2, 3, 4})})[0], (Values{7, 0, 8, 0, 1, 2, 3, 4}));
}
TEST(TorchComplexNumbers, OfRealOnesHaveNoImaginaryPart) {
  EXPECT_EQ(pairs("aten.constant_pad_nd.default", "self=%z pad=[1,0] value=1"), (Values{1, 0, 1, 2, 3, -1}));
  EXPECT_EQ(pairs("aten.full.default", "size=[1] fill_value=[0.0,1.0] dtype=:10"), (Values{0, 1}));
  Pt2 p = of_two("aten.add.Tensor", "self=%z other=%n");
  p.input("n", {2}, 5).input("c", {2}, 12);
  p.node("aten.where.ScalarSelf", "condition=%c self=1.0 other=%z", {"s"});
  p.node("aten.view_as_real.default", "self=%y", {"r"}).node("aten.view_as_real.default", "self=%s", {"t"});
  EXPECT_EQ(answers(p.output("r").output("t"),
                    {f32({2, 2}, {1, 2, 3, -1}), f32({2, 2}, {0, 0, 0, 0}), i64({2}, {10, 20}), truths({2}, {1, 0})}),
            (std::vector<Values>{{11, 2, 23, -1}, {1, 0, 3, -1}}));
}
TEST(TorchComplexNumbers, OfThreeFactorsAreRefused) {
  Pt2 p = of_two("aten.einsum.default", "equation='i,i,i->i' tensors=(%z,%w,%x)");
  EXPECT_NE(refusal(p.input("x", {2}).output("y")).find("multiplies two or more complex tensors and others"),
            std::string::npos);
}
TEST(TorchComplexNumbers, AreMadeOfParts) {
  Pt2 p;
  p.input("a", {2}).input("b", {2}).node("aten.complex.default", "real=%a imag=%b", {"z"});
  p.node("aten.polar.default", "abs=%a angle=%b", {"w"}).node("aten.mul.Tensor", "self=%z other=%w", {"y"});
  p.node("aten.abs.default", "self=%y", {"s"}).output("s");
  expect_near(answers(p, {f32({2}, {3, 1}), f32({2}, {4, 0})})[0], {15, 1});
}
TEST(TorchComplexNumbers, OfInputsAndWeightsArePairs) {
  Pt2 p;
  p.input("z", {2}, 10).weight("w", f32({2, 2}, {0, 1, 2, 0})).said("w", {2}, 10);
  p.node("aten.mul.Tensor", "self=%z other=%w", {"y"}).said("y", {2}, 10);
  p.node("aten.view_as_real.default", "self=%y", {"r"}).output("r");
  const Graph graph = imported_pt2(p.bytes(), "m").value();
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "z");
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[2x2]");
  EXPECT_EQ(answers(p, {f32({2, 2}, {1, 2, 3, -1})})[0], (Values{-2, 1, 6, -2}));
}
TEST(TorchComplexNumbers, MatricesAreMultiplied) {
  Pt2 p;
  p.input("a", {1, 2, 2}).input("b", {2, 1, 2}).node("aten.view_as_complex.default", "self=%a", {"z"});
  p.node("aten.view_as_complex.default", "self=%b", {"w"});
  p.node("aten.einsum.default", "equation='ij,jk->ik' tensors=(%z,%w)", {"y"});
  p.node("aten.matmul.default", "self=%z other=%w", {"m"}).output("y").output("m");
  const auto all = answers(p, {f32({1, 2, 2}, {1, 2, 3, -1}), f32({2, 1, 2}, {2, -1, 0, 1})});
  EXPECT_EQ(all, (std::vector<Values>{{5}, {6}, {5}, {6}}));
}

/// The parts of sum over n of x[n] exp(-2 pi i k n / N), side by side.
Values spectrum(const Values& x, std::size_t count, double side = -1) {
  Values y;
  for (std::size_t k = 0; k < count; ++k) {
    double re = 0, im = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      const double angle = side * 2 * std::acos(-1.0) * static_cast<double>(k * n) / static_cast<double>(x.size());
      re += x[n] * std::cos(angle);
      im += x[n] * std::sin(angle);
    }
    y.insert(y.end(), {re, im});
  }
  return y;
}
Values transform(const std::string& op, const std::string& arguments, const Tensor& x) {
  Pt2 p;
  p.input("x", x.shape()).node(op, "self=%x " + arguments, {"z"}).node("aten.view_as_real.default", "self=%z", {"y"});
  return answers(p.output("y"), {x})[0];
}
TEST(TorchFourier, TransformsAreTheirDefinition) {
  const Values x = {1, 5, 2, -3, 0.5};
  expect_near(transform("aten.fft_rfft.default", "", f32({5}, x)), spectrum(x, 3));
  expect_near(transform("aten.fft_fft.default", "", f32({5}, x)), spectrum(x, 5));
  expect_near(transform("aten.fft_rfft.default", "n=3", f32({5}, x)), spectrum({1, 5, 2}, 2));
  Values tenth = spectrum(x, 5, 1);
  for (double& each : tenth) each /= 5;
  expect_near(transform("aten.fft_ifft.default", "", f32({5}, x)), tenth);
  expect_near(transform("aten.fft_ifft.default", "norm='forward'", f32({5}, x)), spectrum(x, 5, 1));
  expect_near(transform("aten._fft_r2c.default", "dim=[0] normalization=2 onesided=true", f32({5}, x)),
              {1.1, 0, spectrum(x, 2)[2] / 5, spectrum(x, 2)[3] / 5, spectrum(x, 3)[4] / 5, spectrum(x, 3)[5] / 5});
}
TEST(TorchFourier, WaysBackUndoThem) {
  const Tensor x =
      f32({2, 3, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 2, 4, 6, 8, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9});
  for (const char* norm : {"'backward'", "'ortho'", "'forward'"}) {
    for (const auto& [there, back, more] :
         {std::tuple("aten.fft_rfft2.default", "aten.fft_irfft2.default", " s=[3,5]"),
          std::tuple("aten.fft_rfftn.default", "aten.fft_irfftn.default", " s=[2,3,5] dim=[0,1,2]"),
          std::tuple("aten.fft_rfft.default", "aten.fft_irfft.default", " n=5")}) {
      Pt2 p;
      p.input("x", {2, 3, 5}).node(there, std::string("self=%x norm=") + norm, {"z"});
      p.node(back, std::string("self=%z norm=") + norm + more, {"y"}).output("y");
      Values want;
      for (std::int64_t i = 0; i < x.size(); ++i) want.push_back(x.get(i));
      expect_near(answers(p, {x})[0], want);
    }
  }
}
TEST(TorchFourier, FramesGoBackToSignals) {
  for (const char* centre : {"true", "false"}) {
    Pt2 p;
    p.input("x", {1, 12}).node("aten.hamming_window.default", "window_length=4", {"w"});
    p.node("aten.stft.default", "self=%x n_fft=4 hop_length=1 window=%w normalized=true return_complex=true", {"z"});
    p.node("aten.istft.default", std::string("self=%z n_fft=4 hop_length=1 window=%w normalized=true center=") + centre,
           {"y"})
        .output("y");
    const Values x = {1, 2, 4, 3, 5, 1, 7, 2, 9, 4, 6, 3};
    const bool cut = std::string(centre) == "true";
    expect_near(answers(p, {f32({1, 12}, x)})[0], cut ? Values(x.begin() + 2, x.end() - 2) : x);
  }
}
TEST(TorchFourier, WindowsAreAddedUpWhereTheyOverlap) {
  EXPECT_EQ(result("aten.unfold_backward.default", "grad_in=%a input_sizes=[6] dim=0 size=3 step=2",
                   {f32({2, 3}, {1, 2, 3, 4, 5, 6})}),
            (Values{1, 2, 7, 5, 6, 0}));
}
TEST(TorchFourier, WindowsThatDoNotFitTheWholeAreRefused) {
  for (const char* whole : {"5", "9", "-1", "2147483647"}) {
    Pt2 p;
    p.input("x", {2, 3})
        .node("aten.unfold_backward.default", "grad_in=%x input_sizes=[" + std::string(whole) + "] dim=0 size=3 step=3",
              {"y"});
    EXPECT_NE(refusal(p.output("y")).find("adds up windows f32[2x3] of 3 in "), std::string::npos) << whole;
  }
}
TEST(TorchFourier, WindowsAndFrequenciesAreConstants) {
  EXPECT_EQ(result("aten.fft_fftfreq.default", "n=5", {}), (Values{0, 0.2f, 0.4f, -0.4f, -0.2f}));
  EXPECT_EQ(result("aten.fft_rfftfreq.default", "n=4 d=0.5", {}), (Values{0, 0.5, 1}));
  expect_near(result("aten.hann_window.default", "window_length=4", {}), {0, 0.5, 1, 0.5});
  expect_near(result("aten.hann_window.periodic", "window_length=5 periodic=false", {}), {0, 0.5, 1, 0.5, 0});
  expect_near(result("aten.hamming_window.default", "window_length=2", {}), {0.08, 1});
  EXPECT_EQ(result("aten.fft_fftshift.default", "self=%a dim=[0]", {i64({5}, {0, 1, 2, 3, 4})}),
            (Values{3, 4, 0, 1, 2}));
  EXPECT_EQ(result("aten.fft_ifftshift.default", "self=%a", {i64({5}, {3, 4, 0, 1, 2})}), (Values{0, 1, 2, 3, 4}));
}

}  // namespace torch_complex_test
}  // namespace whet::torch
