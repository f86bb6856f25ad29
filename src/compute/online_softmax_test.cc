#include "compute/online_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace online_softmax_test {

const char* const kRowsOfHeads = R"(t = PLACEHOLDER [2, 3, 23]
v = PLACEHOLDER [2, 23, 4]
m(h, i) max= t[h, i, j] for h in 2, i in 3, j in 23  # softmax
e(h, i, j) = exp((t[h, i, j] - m[h, i])) for h in 2, i in 3, j in 23  # softmax
z(h, i) += e[h, i, j] for h in 2, i in 3, j in 23  # softmax
w(h, i, j) = (e[h, i, j]/z[h, i]) for h in 2, i in 3, j in 23  # softmax
y(h, i, c) += (w[h, i, j]*v[h, j, c]) for h in 2, i in 3, c in 4, j in 23  # matmul
out(i, h, c) = (y[h, i, c] + 1f) for i in 3, h in 2, c in 4
return out
)";
const char* const kRoundedWeights = R"(t = PLACEHOLDER [3, 16] f16
v = PLACEHOLDER [16, 4] f16
m(i): f16 max= t[i, j] for i in 3, j in 16
e(i, j) = exp((f32(t[i, j]) - f32(m[i]))) for i in 3, j in 16
z(i) += e[i, j] for i in 3, j in 16
w(i, j): f16 = f16((e[i, j]*(1f/z[i]))) for i in 3, j in 16
y(i, c) += (f32(w[i, j])*f32(v[j, c])) for i in 3, c in 4, j in 16
return y
)";

std::vector<Tensor> random_operands(const ComputeDag& dag) {
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) inputs.push_back(Tensor::random({op.dtype, op.shape}, rng));
  return inputs;
}

void expect_the_same(const char* text, std::int64_t terms, double most) {
  const ComputeDag dag = *parse_dag(text);
  const Result<OnlineSoftmaxDag> changed = online_softmax(dag, OpId(6), terms);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  ASSERT_TRUE(verify(changed->dag).ok()) << to_text(changed->dag);
  EXPECT_TRUE(same_dag(*parse_dag(to_text(changed->dag)), changed->dag));
  const std::vector<Tensor> inputs = random_operands(dag);
  const Result<std::vector<Tensor>> want = evaluate(dag, inputs), got = evaluate(changed->dag, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_LT(compare((*got)[0], (*want)[0]).relative, most) << to_text(changed->dag);
}

TEST(OnlineSoftmax, DividesBehindTheSum) {
  const Result<OnlineSoftmaxDag> changed = online_softmax(*parse_dag(kRowsOfHeads), OpId(6), 8);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->dag.op(changed->ops.mix).element().reduce_axes[0].extent, 24);
  EXPECT_EQ(changed->dag.op(changed->ops.product).name, "y");
  for (const std::int64_t terms : {8, 16}) expect_the_same(kRowsOfHeads, terms, 1e-6);
  for (const std::int64_t terms : {8, 16}) expect_the_same(kRoundedWeights, terms, 2e-3);
}

TEST(OnlineSoftmax, OfARowWithoutAnyFiniteScoreIsNotANumber) {
  const ComputeDag dag = *parse_dag(kRowsOfHeads);
  std::vector<Tensor> inputs = random_operands(dag);
  for (std::int64_t j = 0; j < 23; ++j) inputs[0].set(j, -std::numeric_limits<double>::infinity());
  const Result<std::vector<Tensor>> got = evaluate(online_softmax(dag, OpId(6), 8)->dag, inputs);
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(std::isnan((*got)[0].get(0)));
  EXPECT_FALSE(std::isnan((*got)[0].get(8)));
}

TEST(OnlineSoftmax, RefusesStepsThatFitNoProduct) {
  const ComputeDag dag = *parse_dag(kRowsOfHeads);
  for (const std::int64_t terms : {0, 4, 12, 24})
    EXPECT_EQ(online_softmax(dag, OpId(6), terms).error().message,
              "cannot be summed up by " + std::to_string(terms) +
                  " of its 23 terms; expected a multiple of 8, and at most all");
  EXPECT_EQ(online_softmax(dag, OpId(7), 8).error().message, "is no sum of products of a softmax's weights");
}

}  // namespace online_softmax_test
}  // namespace whet
