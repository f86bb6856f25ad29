#include "compute/split_sum.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compute/unfold.h"
#include "tensor/compare.h"

namespace whet {
namespace split_sum_test {

ComputeDag parsed(const std::string& text) {
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << (dag.ok() ? "" : dag.error().message);
  return *dag;
}

const char* const kProduct = R"(a = PLACEHOLDER [3, 22]
b = PLACEHOLDER [22, 5] const
c(m, n) += (a[m, k]*b[k, n]) for m in 3, n in 5, k in 22  # matmul
out(m, n) = max(c[m, n], 0f) for m in 3, n in 5
return out
)";

/// The answers to equal random inputs agree.
void expect_same(const std::string& text, OpId op, std::int64_t axis, std::int64_t parts) {
  const ComputeDag dag = parsed(text);
  const Result<ComputeDag> split = split_sum(dag, op, axis, parts);
  ASSERT_TRUE(split.ok()) << split.error().message;
  ASSERT_TRUE(verify(*split).ok()) << verify(*split).error().message;
  EXPECT_EQ(to_text(parsed(to_text(*split))), to_text(*split));
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const Op& input : dag.ops)
    if (input.is_placeholder()) inputs.push_back(Tensor::random({input.dtype, input.shape}, rng, -2, 2));
  const auto want = evaluate(dag, inputs), got = evaluate(*split, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_LT(compare((*got)[0], (*want)[0]).relative, 1e-6) << to_text(*split);
}

TEST(SplitSum, MakesPartsAndTheSumOfTheirResults) {
  EXPECT_EQ(to_text(*split_sum(parsed(kProduct), OpId(2), 2, 2)), R"(a = PLACEHOLDER [3, 22]
b = PLACEHOLDER [22, 5] const
c_parts(k_part, m, n) += (a[m, ((k_part*11) + k)]*b[((k_part*11) + k), n]) for k_part in 2, m in 3, n in 5, k in 11  # matmul
c(m, n) += c_parts[k_part, m, n] for m in 3, n in 5, k_part in 2  # reduce
out(m, n) = max(c[m, n], 0f) for m in 3, n in 5
return out
)");
}
TEST(SplitSum, LeavesOutStepsBeyondTheAxis) {
  const std::string text = to_text(*split_sum(parsed(kProduct), OpId(2), 2, 5));
  EXPECT_NE(text.find("select((((k_part*5) + k) < 22), (a[m, ((k_part*5) + k)]*b[((k_part*5) + k), n]), 0f)"),
            std::string::npos)
      << text;
}
TEST(SplitSum, ComputesTheSame) {
  for (const std::int64_t parts : {2, 3, 5}) expect_same(kProduct, OpId(2), 2, parts);
  // A window, along each of its axes, of every reducer.
  for (const char* reducer : {"+=", "max=", "min=", "*="})
    for (const std::int64_t axis : {2, 3})
      expect_same(std::string("x = PLACEHOLDER [20, 13]\ny(i, j) ") + reducer +
                      " x[(i + r), (j + q)] for i in 9, j in 5, r in 12, q in 9\nreturn y\n",
                  OpId(1), axis, axis == 2 ? 3 : 2);
}
TEST(SplitSum, ComputesIntegersAndTheSumOfEverything) {
  expect_same("x = PLACEHOLDER [41] i32\ns(): i32 += x[r] for r in 41\nreturn s\n", OpId(1), 0, 7);
  expect_same("x = PLACEHOLDER [41] i32\ns(): i32 max= x[r] for r in 41\nreturn s\n", OpId(1), 0, 3);
}
TEST(SplitSum, GoesWithAnUnfoldedCopy) {
  const ComputeDag parts = *split_sum(parsed(kProduct), OpId(2), 2, 2);
  const Result<ComputeDag> copied = unfold(parts, OpId(0), OpId(2), false);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_NE(
      to_text(*copied).find("a_unfolded(k_part, m, k) = a[m, ((k_part*11) + k)] for k_part in 2, m in 3, k in 11"),
      std::string::npos)
      << to_text(*copied);
}
TEST(SplitSum, FindsNamesThatNothingHas) {
  const std::string text = to_text(*split_sum(parsed(R"(x = PLACEHOLDER [3, 16]
c_parts(k_part) = x[k_part, 0] for k_part in 3
c(k_part) += (x[k_part, k]*c_parts[k_part]) for k_part in 3, k in 16
return c
)"),
                                              OpId(2), 1, 2));
  EXPECT_NE(text.find("c_parts_(k_part_, k_part) += (x[k_part, ((k_part_*8) + k)]*c_parts[k_part])"), std::string::npos)
      << text;
}

}  // namespace split_sum_test
}  // namespace whet
