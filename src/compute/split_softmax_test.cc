#include "compute/split_softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace split_softmax_test {

ComputeDag parsed(const std::string& text) {
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << (dag.ok() ? "" : dag.error().message);
  return *dag;
}

const char* const kHeads = R"(t = PLACEHOLDER [2, 3, 23]
v = PLACEHOLDER [2, 23, 4]
m(h, i) max= t[h, i, j] for h in 2, i in 3, j in 23  # softmax
e(h, i, j) = exp((t[h, i, j] - m[h, i])) for h in 2, i in 3, j in 23  # softmax
z(h, i) += e[h, i, j] for h in 2, i in 3, j in 23  # softmax
w(h, i, j) = (e[h, i, j]/z[h, i]) for h in 2, i in 3, j in 23  # softmax
y(h, i, c) += (w[h, i, j]*v[h, j, c]) for h in 2, i in 3, c in 4, j in 23  # matmul
out(i, h, c) = (y[h, i, c] + 1f) for i in 3, h in 2, c in 4
return out
)";
constexpr OpId kProduct(6);
std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

/// Rows whose values all heads share, the other factor first, in a row of one element.
const char* const kShared = R"(t = PLACEHOLDER [5, 16]
v = PLACEHOLDER [16, 3]
m(i) max= t[i, j] for i in 5, j in 16
e(i, j) = exp((t[i, j] - m[i])) for i in 5, j in 16
z(i) += e[i, j] for i in 5, j in 16
w(i, j) = (e[i, j]/z[i]) for i in 5, j in 16
y(i, c) += (v[j, c]*w[i, j]) for i in 5, c in 3, j in 16
return y
)";

/// The same of f16, whose sums are f32.
const char* const kHalves = R"(t = PLACEHOLDER [2, 3, 23] f16
v = PLACEHOLDER [2, 23, 4] f16
m(h, i): f16 max= t[h, i, j] for h in 2, i in 3, j in 23
e(h, i, j) = exp((f32(t[h, i, j]) - f32(m[h, i]))) for h in 2, i in 3, j in 23
z(h, i) += e[h, i, j] for h in 2, i in 3, j in 23
w(h, i, j): f16 = f16((e[h, i, j]*(1f/z[h, i]))) for h in 2, i in 3, j in 23
y(h, i, c) += (f32(w[h, i, j])*f32(v[h, j, c])) for h in 2, i in 3, c in 4, j in 23
return y
)";

std::vector<Tensor> random_scores(const ComputeDag& dag) {
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const Op& input : dag.ops)
    if (input.is_placeholder()) inputs.push_back(Tensor::random({input.dtype, input.shape}, rng, -6, 6));
  return inputs;
}

/// The answers agree.
void expect_same(const ComputeDag& dag, OpId product, std::int64_t terms, const std::vector<Tensor>& inputs,
                 double most = 1e-6) {
  const Result<SplitSoftmaxDag> split = split_softmax(dag, product, terms);
  ASSERT_TRUE(split.ok()) << split.error().message;
  ASSERT_TRUE(verify(split->dag).ok()) << verify(split->dag).error().message << "\n" << to_text(split->dag);
  EXPECT_EQ(to_text(parsed(to_text(split->dag))), to_text(split->dag));
  const auto want = evaluate(dag, inputs), got = evaluate(split->dag, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_LT(compare((*got)[0], (*want)[0]).relative, most) << to_text(split->dag);
}

TEST(SplitSoftmax, MakesPartsAndWhatTheirResultsGive) {
  EXPECT_EQ(to_text(split_softmax(parsed(kHeads), kProduct, 12)->dag), R"(t = PLACEHOLDER [2, 3, 23]
v = PLACEHOLDER [2, 23, 4]
t_parts(part, h, i, j) = select((((part*12) + j) < 23), t[h, i, ((part*12) + j)], -inff) for part in 2, h in 2, i in 3, j in 12  # elementwise
m_parts(part, h, i) max= t_parts[part, h, i, j] for part in 2, h in 2, i in 3, j in 12  # softmax
e_parts(part, h, i, j) = exp((t_parts[part, h, i, j] - max(m_parts[part, h, i], -3.4028235e+38f))) for part in 2, h in 2, i in 3, j in 12  # softmax
z_parts(part, h, i) += e_parts[part, h, i, j] for part in 2, h in 2, i in 3, j in 12  # softmax
y_values(part, h, j, c) = select((((part*12) + j) < 23), v[h, ((part*12) + j), c], 0f) for part in 2, h in 2, j in 12, c in 4  # injective
y_parts(part, h, i, c) += (e_parts[part, h, i, j]*y_values[part, h, j, c]) for part in 2, h in 2, i in 3, c in 4, j in 12  # matmul
y_results(part, h, i, c) = select((c < 4), y_parts[part, h, i, c], select((c < 5), z_parts[part, h, i], max(m_parts[part, h, i], -3.4028235e+38f))) for part in 2, h in 2, i in 3, c in 8  # injective
m(h, i) max= y_results[part, h, i, 5] for h in 2, i in 3, part in 2  # reduce
z(h, i) += (exp((y_results[part, h, i, 5] - m[h, i]))*y_results[part, h, i, 4]) for h in 2, i in 3, part in 2  # reduce
y_all(h, i, c) += (exp((y_results[part, h, i, 5] - m[h, i]))*y_results[part, h, i, c]) for h in 2, i in 3, c in 4, part in 2  # reduce
y(h, i, c) = (y_all[h, i, c]/z[h, i]) for h in 2, i in 3, c in 4  # elementwise
out(i, h, c) = (y[h, i, c] + 1f) for i in 3, h in 2, c in 4
return out
)");
}
TEST(SplitSoftmax, SaysWhichOpsItMade) {
  const SplitSoftmaxDag split = *split_softmax(parsed(kHeads), kProduct, 12);
  const auto name = [&](OpId op) { return split.dag.op(op).name; };
  EXPECT_EQ(name(split.ops.scores), "t_parts");
  EXPECT_EQ(name(split.ops.top), "m_parts");
  EXPECT_EQ(name(split.ops.exp), "e_parts");
  EXPECT_EQ(name(split.ops.sum), "z_parts");
  EXPECT_EQ(name(split.ops.values), "y_values");
  EXPECT_EQ(name(split.ops.mix), "y_parts");
  EXPECT_EQ(name(split.ops.parts), "y_results");
  EXPECT_EQ(name(split.ops.all_top), "m");
  EXPECT_EQ(name(split.ops.all_sum), "z");
  EXPECT_EQ(name(split.ops.all_mix), "y_all");
  EXPECT_EQ(name(split.ops.product), "y");
}
TEST(SplitSoftmax, ComputesTheSame) {
  for (const std::int64_t terms : {4, 5, 8, 12, 16, 22})
    expect_same(parsed(kHeads), kProduct, terms, random_scores(parsed(kHeads)));
  for (const std::int64_t terms : {4, 8, 15})
    expect_same(parsed(kShared), kProduct, terms, random_scores(parsed(kShared)));
}
/// As operators define it (ops/reduce.cc).
TEST(SplitSoftmax, TakesAProductWithTheReciprocal) {
  const ComputeDag dag = parsed(with(kHeads, "(e[h, i, j]/z[h, i])", "(e[h, i, j]*(1f/z[h, i]))"));
  expect_same(dag, kProduct, 8, random_scores(dag));
  EXPECT_EQ(to_text(split_softmax(dag, kProduct, 12)->dag), to_text(split_softmax(parsed(kHeads), kProduct, 12)->dag));
}
/// As products of batches of one define it (ops/matmul.cc).
TEST(SplitSoftmax, TakesAxesOfOneElementThatStandAsZero) {
  std::string text = kHeads;
  for (std::size_t at = 0; (at = text.find("h in 2", at)) != std::string::npos;) text.replace(at, 6, "h in 1");
  for (const auto& [old, now] :
       {std::pair("[2, 3, 23]", "[1, 3, 23]"), {"[2, 23, 4]", "[1, 23, 4]"}, {"w[h, i, j]*v[h", "w[0, i, j]*v[0"}})
    text = with(text, old, now);
  expect_same(parsed(text), kProduct, 8, random_scores(parsed(text)));
}
/// Exponentials are what weights are: f16, as the values that they are multiplied by.
TEST(SplitSoftmax, RoundsExponentialsWhereWeightsAreRounded) {
  const ComputeDag dag = parsed(kHalves);
  for (const std::int64_t terms : {5, 8, 16}) expect_same(dag, kProduct, terms, random_scores(dag), 2e-3);
  const SplitSoftmaxDag split = *split_softmax(dag, kProduct, 8);
  for (const OpId op : {split.ops.exp, split.ops.values}) EXPECT_EQ(split.dag.op(op).dtype, DType::f16);
  for (const OpId op : {split.ops.sum, split.ops.mix, split.ops.parts}) EXPECT_EQ(split.dag.op(op).dtype, DType::f32);
}
TEST(SplitSoftmax, CountsPartsWhoseTermsAreAllMaskedForNothing) {
  const ComputeDag dag = parsed(kShared);
  for (const double masked : {-std::numeric_limits<double>::infinity(), -3.4e38, -1e9}) {
    std::vector<Tensor> inputs = random_scores(dag);
    for (std::int64_t i = 0; i < 5; ++i)
      for (std::int64_t j = 0; j < 16; ++j)
        if (j / 4 != i % 4) inputs[0].set(i * 16 + j, masked);
    expect_same(dag, kProduct, 4, inputs);
  }
}
TEST(SplitSoftmax, WeighsRowsAlikeThatAreMaskedByEqualNumbers) {
  const ComputeDag dag = parsed(kHeads);  // 23 terms: a part ends behind the last one
  std::vector<Tensor> inputs = random_scores(dag);
  for (std::int64_t k = 0; k < inputs[0].size(); ++k)
    inputs[0].set(k, static_cast<double>(std::numeric_limits<float>::lowest()));
  expect_same(dag, kProduct, 16, inputs);
}

void expect_refusal(const std::string& text, OpId op, std::int64_t terms, const std::string& message) {
  const Result<SplitSoftmaxDag> split = split_softmax(parsed(text), op, terms);
  ASSERT_FALSE(split.ok());
  EXPECT_EQ(split.error().message, message);
}
TEST(SplitSoftmax, RefusesWhatIsNone) {
  const std::string none = "is no sum of products of a softmax's weights";
  expect_refusal(kHeads, OpId(5), 12, none);
  expect_refusal(with(kHeads, "exp((t[h, i, j] - m[h, i]))", "exp((m[h, i] - t[h, i, j]))"), kProduct, 12, none);
  expect_refusal(with(kHeads, "(e[h, i, j]/z[h, i])", "(e[h, i, j]*z[h, i])"), kProduct, 12, none);
  // Half of the softmax's terms.
  expect_refusal(with(kHeads, "c in 4, j in 23", "c in 4, j in 11"), kProduct, 12, none);
}
TEST(SplitSoftmax, RefusesWhereSomethingElseReadsWhatGoes) {
  expect_refusal(with(kHeads, "return out", "sharpness(h, i) = m[h, i] for h in 2, i in 3\nreturn out, sharpness"),
                 kProduct, 12, "is not alone: sharpness also reads m");
  expect_refusal(with(kHeads, "return out", "return out, w"), kProduct, 12,
                 "has the softmax's w as an output beside it");
}
TEST(SplitSoftmax, RefusesPartsOfTooFewTermsAndOfAll) {
  for (const int terms : {0, 3, 23, 24})
    expect_refusal(
        kHeads, kProduct, terms,
        "cannot have parts of " + std::to_string(terms) + " of its 23 terms; expected 4 or more, and not all");
}

}  // namespace split_softmax_test
}  // namespace whet
