#include "compute/unfold.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compute/merge.h"
#include "tensor/compare.h"

namespace whet {
namespace unfold_test {

ComputeDag parsed(const std::string& text) {
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << dag.error().message;
  return *dag;
}

const char* const kConvolution = R"(x = PLACEHOLDER [2, 6, 7, 3]
w = PLACEHOLDER [3, 3, 3, 4] const
conv(n, oh, ow, oc) += (x[n, (oh + rh), ((ow*2) + rw), rc]*w[rh, rw, rc, oc]) for n in 2, oh in 4, ow in 3, oc in 4, rh in 3, rw in 3, rc in 3
out(n, oh, ow, oc) = max(conv[n, oh, ow, oc], 0f) for n in 2, oh in 4, ow in 3, oc in 4
return out
)";

/// A convolution as a product of two matrices: pixels by taps, taps by channels.
ComputeDag as_product() {
  ComputeDag dag = *unfold(*unfold(parsed(kConvolution), OpId(0), OpId(2), false), OpId(1), OpId(3), true);
  for (const auto& [op, axis] : {std::pair(4, 1), {4, 0}, {4, 2}, {4, 2}}) {
    const Result<ComputeDag> merged = merge_axes(dag, OpId(op), axis);
    EXPECT_TRUE(merged.ok()) << (merged.ok() ? "" : merged.error().message);
    if (merged.ok()) dag = *merged;
  }
  return dag;
}

TEST(Unfold, GivesTheReaderACopyInTheOrderOfItsAxes) {
  EXPECT_EQ(to_text(*unfold(parsed(kConvolution), OpId(0), OpId(2), false)), R"(x = PLACEHOLDER [2, 6, 7, 3]
w = PLACEHOLDER [3, 3, 3, 4] const
x_unfolded(n, oh, ow, rh, rw, rc) = x[n, (oh + rh), ((ow*2) + rw), rc] for n in 2, oh in 4, ow in 3, rh in 3, rw in 3, rc in 3  # unfold
conv(n, oh, ow, oc) += (x_unfolded[n, oh, ow, rh, rw, rc]*w[rh, rw, rc, oc]) for n in 2, oh in 4, ow in 3, oc in 4, rh in 3, rw in 3, rc in 3
out(n, oh, ow, oc) = max(conv[n, oh, ow, oc], 0f) for n in 2, oh in 4, ow in 3, oc in 4
return out
)");
}
TEST(Unfold, MakesAConvolutionAProductOfTwoMatricesOnceAxesAreMerged) {
  EXPECT_EQ(to_text(as_product()), R"(x = PLACEHOLDER [2, 6, 7, 3]
w = PLACEHOLDER [3, 3, 3, 4] const
x_unfolded(nohow, rhrwrc) = x[floordiv(nohow, 12), (floordiv(floormod(nohow, 12), 3) + floordiv(floordiv(rhrwrc, 3), 3)), ((floormod(floormod(nohow, 12), 3)*2) + floormod(floordiv(rhrwrc, 3), 3)), floormod(rhrwrc, 3)] for nohow in 24, rhrwrc in 27  # unfold
w_unfolded(rhrwrc, oc) = w[floordiv(floordiv(rhrwrc, 3), 3), floormod(floordiv(rhrwrc, 3), 3), floormod(rhrwrc, 3), oc] for rhrwrc in 27, oc in 4  # unfold
conv(nohow, oc) += (x_unfolded[nohow, rhrwrc]*w_unfolded[rhrwrc, oc]) for nohow in 24, oc in 4, rhrwrc in 27
out(nohow, oc) = max(conv[nohow, oc], 0f) for nohow in 24, oc in 4
return out
)");
}
TEST(Unfold, ComputesTheSame) {
  const ComputeDag dag = parsed(kConvolution), product = as_product();
  ASSERT_TRUE(verify(product).ok());
  Rng rng(5);
  const std::vector<Tensor> inputs = {Tensor::random({DType::f32, {2, 6, 7, 3}}, rng, -1, 1),
                                      Tensor::random({DType::f32, {3, 3, 3, 4}}, rng, -1, 1)};
  const auto want = evaluate(dag, inputs), got = evaluate(product, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  const auto a = want->front().as<float>(), b = got->front().as<float>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}
const char* const kScaled = R"(s = PLACEHOLDER [2, 6]
x = PLACEHOLDER [2, 5, 6]
w = PLACEHOLDER [6, 4] const
y(n, i, j) += (x[n, i, r]*(s[n, r]*w[r, j])) for n in 2, i in 5, j in 4, r in 6  # matmul
return y
)";
TEST(Unfold, CopiesAWholeFactor) {
  for (const int of : {0, 2})
    EXPECT_EQ(to_text(*unfold_factor(parsed(kScaled), OpId(of), OpId(3), true)),
              R"(s = PLACEHOLDER [2, 6]
x = PLACEHOLDER [2, 5, 6]
w = PLACEHOLDER [6, 4] const
)" + std::string(of == 0 ? "s" : "w") +
                  R"(_unfolded(r, n, j) = (s[n, r]*w[r, j]) for r in 6, n in 2, j in 4  # unfold
y(n, i, j) += (x[n, i, r]*)" +
                  std::string(of == 0 ? "s" : "w") + R"(_unfolded[r, n, j]) for n in 2, i in 5, j in 4, r in 6  # matmul
return y
)");
}
TEST(Unfold, RefusesWhatIsNoFactor) {
  const auto refusal = [](const std::string& body) {
    const ComputeDag dag = parsed("x = PLACEHOLDER [5, 7]\ny = PLACEHOLDER [5]\n" + body + "\nreturn out\n");
    const Result<ComputeDag> changed = unfold_factor(dag, OpId(0), OpId(2), false);
    return changed.ok() ? "" : changed.error().message;
  };
  EXPECT_EQ(refusal("out(i) += ((x[i, r] + 1f)*y[i]) for i in 5, r in 7"), "");
  EXPECT_EQ(refusal("out(i) += x[i, r] for i in 5, r in 7"), "is no product of two factors");
  EXPECT_EQ(refusal("out(i) = (y[i]*y[i]) for i in 5"), "does not read x");
  EXPECT_EQ(refusal("out(i) = (x[i, 0]*x[i, 1]) for i in 5"), "reads x in both factors");
}
TEST(Unfold, RefusesWhatHasNoCopyOfThisKind) {
  const auto refusal = [](const std::string& body) {
    const ComputeDag dag = parsed("x = PLACEHOLDER [5, 7]\ny = PLACEHOLDER [5]\n" + body + "\nreturn out\n");
    const Result<ComputeDag> changed = unfold(dag, OpId(0), OpId(2), false);
    return changed.ok() ? "" : changed.error().message;
  };
  EXPECT_EQ(refusal("out(i) += x[i, r] for i in 5, r in 7"), "");
  EXPECT_EQ(refusal("out(i) = y[i] for i in 5"), "does not read x");
  EXPECT_EQ(refusal("out(i) = (x[i, 0] + x[i, 1]) for i in 5"), "reads x at several places");
  EXPECT_EQ(refusal("out(i) = select((i < 3), x[i, 0], 0f) for i in 5"), "reads x under a condition");
  EXPECT_EQ(refusal("out(i) = (x[2, 0]*y[i]) for i in 5"), "reads one element of x alone");
}

}  // namespace unfold_test
}  // namespace whet
