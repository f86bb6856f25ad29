#include "compute/round.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace round_test {

const char* const kProduct = R"(a = PLACEHOLDER [3, 6]
b = PLACEHOLDER [6, 5] const
left(i, k) = a[i, k] for i in 3, k in 6
c(i, j) += (left[i, k]*b[k, j]) for i in 3, j in 5, k in 6  # matmul
return c
)";
constexpr OpId kLeft = OpId(2);

ComputeDag product() { return parse_dag(kProduct).value(); }

std::string refusal(const ComputeDag& dag, OpId op, MathFn rounding = MathFn::round_f16) {
  const Result<ComputeDag> rounded = round_elements(dag, op, rounding);
  return rounded.ok() ? "" : rounded.error().message;
}

TEST(RoundElements, MakesATensorOfHalvesThatReadersWiden) {
  EXPECT_EQ(to_text(*round_elements(product(), kLeft, MathFn::round_f16)), R"(a = PLACEHOLDER [3, 6]
b = PLACEHOLDER [6, 5] const
left(i, k): f16 = f16(a[i, k]) for i in 3, k in 6
c(i, j) += (f32(left[i, k])*b[k, j]) for i in 3, j in 5, k in 6  # matmul
return c
)");
}
TEST(RoundElements, LeavesTensorsOfTf32AsTheyAre) {
  const std::string text = to_text(*round_elements(product(), kLeft, MathFn::round_tf32));
  EXPECT_NE(text.find("left(i, k) = round_tf32(a[i, k]) for"), std::string::npos) << text;
  EXPECT_NE(text.find("(left[i, k]*b[k, j])"), std::string::npos) << text;
}
TEST(RoundElements, ComputesOfRoundedElements) {
  Rng rng(3);
  const Tensor a = Tensor::random({DType::f32, {3, 6}}, rng, -2, 2),
               b = Tensor::random({DType::f32, {6, 5}}, rng, -2, 2);
  const Tensor exact = (*evaluate(product(), {a, b}))[0];
  for (const MathFn rounding : {MathFn::round_f16, MathFn::round_tf32}) {
    const ComputeDag rounded = round_elements(product(), kLeft, rounding).value();
    ASSERT_TRUE(verify(rounded).ok()) << verify(rounded).error().message;
    EXPECT_EQ(to_text(parse_dag(to_text(rounded)).value()), to_text(rounded));
    const double error = compare((*evaluate(rounded, {a, b}))[0], exact).relative;
    EXPECT_GT(error, 1e-6);
    EXPECT_LT(error, 0x1p-10);
  }
}
TEST(RoundElements, RefusesWhatOthersSee) {
  const ComputeDag dag = product();
  EXPECT_EQ(refusal(dag, OpId(0)), "is an input, which is as the caller gives it");
  EXPECT_EQ(refusal(dag, OpId(3)), "is an output, which is as the caller wants it");
  EXPECT_EQ(refusal(dag, kLeft, MathFn::round_bf16), "cannot be rounded so");
  EXPECT_EQ(refusal(*round_elements(dag, kLeft, MathFn::round_f16), kLeft), "is not f32");
  EXPECT_EQ(refusal(parse_dag("a = PLACEHOLDER [3, 4]\n"
                              "s(i) += a[i, k] for i in 3, k in 4\n"
                              "y(i) = max(s[i], 0f) for i in 3\n"
                              "return y\n")
                        .value(),
                    OpId(1)),
            "is a reduction, which ends after its last term");
}
TEST(IsRounded, SeesThroughCopies) {
  const ComputeDag dag = parse_dag(R"(a = PLACEHOLDER [4]
r(i) = round_tf32(a[i]) for i in 4
copy(i) = select((i < 3), r[i], 0f) for i in 4
sum(i) = (copy[i] + r[i]) for i in 4
beside(i) = select((i < 3), a[i], 0f) for i in 4
y(i) = (sum[i] + beside[i]) for i in 4
return y
)")
                             .value();
  const bool expected[] = {false, true, true, false, false, false};
  for (std::size_t k = 0; k < dag.ops.size(); ++k)
    EXPECT_EQ(is_rounded(dag, OpId(static_cast<std::int64_t>(k)), MathFn::round_tf32), expected[k]) << dag.ops[k].name;
  EXPECT_FALSE(is_rounded(dag, OpId(1), MathFn::round_bf16));
}

}  // namespace round_test
}  // namespace whet
