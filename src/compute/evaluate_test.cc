#include <gtest/gtest.h>

#include "base/rng.h"
#include "compute/dag.h"
#include "tensor/compare.h"

namespace whet {
namespace {

std::vector<Tensor> random_inputs(const ComputeDag& dag, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops) {
    if (const auto* p = std::get_if<Placeholder>(&op.def)) {
      const double high = p->index_bound > 0 ? static_cast<double>(p->index_bound) : is_float(op.dtype) ? 1 : 9;
      inputs.push_back(Tensor::random({op.dtype, op.shape}, rng, p->index_bound > 0 ? 0 : -high, high));
    }
  }
  return inputs;
}

/// The first output as text: values with blanks between, or the error.
std::string run(const std::string& text, const std::vector<Tensor>& inputs) {
  const auto dag = parse_dag(text);
  if (!dag.ok()) return dag.error().message;
  const auto outputs = evaluate(*dag, inputs);
  if (!outputs.ok()) return outputs.error().message;
  std::string out;
  for (std::int64_t i = 0; i < (*outputs)[0].size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%g", (*outputs)[0].get(i));
    out += (i ? " " : "") + std::string(number);
  }
  return out;
}

Tensor floats(Shape shape, const std::vector<double>& values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}

TEST(Evaluate, ComputesElementsAndReductions) {
  const Tensor p = floats({2, 3}, {1, 2, 3, 4, 5, -6});
  const std::string head = "p = PLACEHOLDER [2, 3]\n";
  EXPECT_EQ(run(head + "q(i, j) = ((p[i, j]*2f) + f32((i - j))) for i in 2, j in 3\nreturn q", {p}), "2 3 4 9 10 -13");
  EXPECT_EQ(run(head + "q(i) += p[i, j] for i in 2, j in 3\nreturn q", {p}), "6 3");
  EXPECT_EQ(run(head + "q(j) *= p[i, j] for j in 3, i in 2\nreturn q", {p}), "4 10 -18");
  EXPECT_EQ(run(head + "q() max= p[i, j] for i in 2, j in 3\nreturn q", {p}), "5");
  EXPECT_EQ(run(head + "q() min= max(p[i, j], -1f) for i in 2, j in 3\nreturn q", {p}), "-1");
  EXPECT_EQ(run(head + "m(i, j) += (p[i, k]*p[j, k]) for i in 2, j in 2, k in 3\nreturn m", {p}), "14 -4 -4 77");
}

TEST(Evaluate, ReadsOnlyTheChosenSideOfASelect) {
  const Tensor p = floats({3}, {1, 2, 3});
  const std::string head = "p = PLACEHOLDER [3]\n";
  EXPECT_EQ(run(head + "q(i) = select((i >= 1) && (i < 4), p[(i - 1)], 0f) for i in 6\nreturn q", {p}), "0 1 2 3 0 0");
  EXPECT_EQ(run(head + "q(i) = p[(i - 1)] for i in 3\nreturn q", {p}), "op 'q' loads 'p' at [-1], outside its shape 3");
  EXPECT_EQ(run(head + "q(i) = select((i < 9), p[floordiv((i*i), 3)], 0f) for i in 4\nreturn q", {p}),
            "op 'q' loads 'p' at [3], outside its shape 3");
}

TEST(Evaluate, IsExactOnIntegersAndRoundsFloatsAtTheEndOfAnOp) {
  const Tensor i8 = Tensor::of(DType::i8, {2}, std::vector<int>{100, -100});
  EXPECT_EQ(run("p = PLACEHOLDER [2] i8\nq(i): i8 = (p[i] + p[i]) for i in 2\nreturn q", {i8}), "-56 56");
  EXPECT_EQ(run("p = PLACEHOLDER [2] i8\nq(): i32 += i32(p[i]) for i in 2\nreturn q", {i8}), "0");
  EXPECT_EQ(run("p = PLACEHOLDER [2] i8\nq(i): i8 = floordiv(p[i], 3i8) for i in 2\nreturn q", {i8}), "33 -34");
  EXPECT_EQ(run("p = PLACEHOLDER [2] i8\nq(i): i8 = (p[i]/(p[i] - p[i])) for i in 2\nreturn q", {i8}),
            "op 'q' divides by zero");
  EXPECT_EQ(run("p = PLACEHOLDER [1]\nq(i) = ((p[i] + 1f) - 1f) for i in 1\nreturn q", {floats({1}, {1e-12})}),
            "1.00009e-12");
  EXPECT_EQ(run("p = PLACEHOLDER [1]\nt(i) = (p[i] + 1f) for i in 1\nq(i) = (t[i] - 1f) for i in 1\nreturn q",
                {floats({1}, {1e-12})}),
            "0");
}

TEST(Evaluate, TakesTheBitsOfAFloat) {
  EXPECT_EQ(
      run("p = PLACEHOLDER [3]\nq(i): i32 = bits_of(p[i]) for i in 3\nreturn q", {floats({3}, {0x1p-149F, -0.0, 0})}),
      "1 -2.14748e+09 0");
  EXPECT_EQ(run("p = PLACEHOLDER [1] f64\nq(i): i64 = bits_of(p[i]) for i in 1\nreturn q",
                {Tensor::of(DType::f64, {1}, std::vector<double>{0x1p-1073})}),
            "2");
}

TEST(Evaluate, RefusesWrongInputs) {
  const std::string text = "p = PLACEHOLDER [3]\nq(i) = p[i] for i in 3\nreturn q";
  EXPECT_EQ(run(text, {}), "the DAG has 1 placeholders, but 0 inputs were given");
  EXPECT_EQ(run(text, {floats({2}, {1, 2})}), "the input 'p' is f32[2], expected f32[3]");
}

constexpr const char* kNetwork = R"(p0 = PLACEHOLDER [1, 9, 9, 20]
pad(n, y, x, c) = select((y >= 1) && (y < 10) && (x >= 1) && (x < 10), p0[n, (y - 1), (x - 1), c], 0f) for n in 1, y in 11, x in 11, c in 20
p1 = PLACEHOLDER [3, 3, 20, 33] const
conv(n, y, x, f) += (pad[n, ((y*2) + r), ((x*2) + s), c]*p1[r, s, c, f]) for n in 1, y in 5, x in 5, f in 33, r in 3, s in 3, c in 20
t = PLACEHOLDER [7] i64 < 33
gather(n, y, x, k) = conv[n, y, x, t[k]] for n in 1, y in 5, x in 5, k in 7
peak(n, k) max= gather[n, y, x, k] for n in 1, k in 7, y in 5, x in 5
e(n, k) = exp((gather[n, 0, floormod(k, 5), k] - peak[n, k])) for n in 1, k in 7
z(n) += e[n, k] for n in 1, k in 7
out(n, k) = (e[n, k]/z[n]) for n in 1, k in 7
return out
)";

TEST(EvaluateAt, AgreesWithEvaluateAll) {
  const ComputeDag dag = *parse_dag(kNetwork);
  const std::vector<Tensor> inputs = random_inputs(dag, 5);
  const auto all = evaluate_all(dag, inputs);
  ASSERT_TRUE(all.ok()) << all.error().message;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    std::vector<std::int64_t> elements;
    for (std::int64_t k = 0; k < (*all)[i].size(); k += 3) elements.push_back(k);
    const auto some = evaluate_at(dag, inputs, OpId(static_cast<std::int64_t>(i)), elements);
    ASSERT_TRUE(some.ok()) << some.error().message;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      EXPECT_EQ(some->get(static_cast<std::int64_t>(k)), (*all)[i].get(elements[k])) << dag.ops[i].name;
    }
  }
}

/// A bottleneck: two products with a depthwise convolution between them, in blocks of 4 channels at the end.
constexpr const char* kChain = R"(p0 = PLACEHOLDER [2, 6, 5, 3]
p1 = PLACEHOLDER [3, 40] const
wide(n, y, x, c) += (p0[n, y, x, k]*p1[k, c]) for n in 2, y in 6, x in 5, c in 40, k in 3
pad(n, y, x, c) = select((y >= 1) && (y < 7) && (x >= 1) && (x < 6), wide[n, (y - 1), (x - 1), c], 0f) for n in 2, y in 8, x in 7, c in 40
p2 = PLACEHOLDER [3, 3, 40] const
depthwise(n, y, x, c) += (pad[n, ((y*2) + r), ((x*2) + s), c]*p2[r, s, c]) for n in 2, y in 3, x in 3, c in 40, r in 3, s in 3
cut(n, y, x, c) = min(max(depthwise[n, y, x, c], 0f), 1f) for n in 2, y in 3, x in 3, c in 40
p3 = PLACEHOLDER [40, 12] const
narrow(n, y, x, c) += (cut[n, y, x, k]*p3[k, c]) for n in 2, y in 3, x in 3, c in 12, k in 40
blocks(n, b, y, x, c) = narrow[n, y, x, ((b*4) + c)] for n in 2, b in 3, y in 3, x in 3, c in 4
flat(n, i) = blocks[n, floordiv(i, 36), floormod(floordiv(i, 12), 3), floormod(floordiv(i, 4), 3), floormod(i, 4)] for n in 2, i in 108
mean() += flat[n, i] for n in 2, i in 108
return blocks, flat, mean
)";

TEST(EvaluateAt, AgreesWithEvaluateAllOnAChainOfConvolutions) {
  const ComputeDag dag = *parse_dag(kChain);
  const std::vector<Tensor> inputs = random_inputs(dag, 8);
  const auto all = evaluate_all(dag, inputs);
  ASSERT_TRUE(all.ok()) << all.error().message;
  for (const OpId id : dag.outputs) {
    const Tensor& whole = (*all)[id.index()];
    for (std::int64_t k = 0; k < whole.size(); k += 17) {
      const auto one = evaluate_at(dag, inputs, id, {k});
      ASSERT_TRUE(one.ok()) << one.error().message;
      EXPECT_EQ(one->get(0), whole.get(k)) << dag.op(id).name << " at " << k;
    }
  }
}

TEST(EvaluateAt, ComputesOnlyWhatElementsNeed) {
  const ComputeDag dag = *parse_dag(
      "p = PLACEHOLDER [4, 4] i32\n"
      "q(i, j): i32 = (1i32/p[i, j]) for i in 4, j in 4\n"
      "s(i, j): i32 += q[(i + k), j] for i in 3, j in 4, k in 2\nreturn s\n");
  Tensor p = Tensor::of(DType::i32, {4, 4}, std::vector<int>(16, 1));
  p.set(4 * 2 + 1, 0);
  const auto at = [&](std::int64_t element) { return evaluate_at(dag, {p}, dag.outputs[0], {element}); };
  for (std::int64_t element : {0, 1, 2, 3, 4, 6, 7, 8, 10, 11}) EXPECT_EQ(at(element)->integer(0), 2) << element;
  for (std::int64_t element : {5, 9}) {
    ASSERT_FALSE(at(element).ok()) << element;
    EXPECT_EQ(at(element).error().message, "op 'q' divides by zero");
  }
}

TEST(Count, CountsFloatOperationsOfTheDirectAlgorithm) {
  const ComputeDag dag = *parse_dag(
      "p = PLACEHOLDER [4, 8]\nw = PLACEHOLDER [8, 5] const\n"
      "m(i, j) += (p[i, k]*w[k, j]) for i in 4, j in 5, k in 8\n"
      "r(i, j) = select((i < 2), max(m[i, j], 0f), exp(m[i, j])) for i in 4, j in 5\nreturn r\n");
  EXPECT_EQ(flops(dag), 4 * 5 * 8 * 2 + 4 * 5 * 2);
  EXPECT_EQ(bytes(dag), 4 * (32 + 40 + 20));
}

TEST(Count, CountsAnOperationOncePerCombinationOfItsAxes) {
  const ComputeDag dag = *parse_dag(
      "p = PLACEHOLDER [4, 8]\ns = PLACEHOLDER [8]\nw = PLACEHOLDER [8, 5] const\n"
      "m(i, j) += (p[i, k]*(s[k]*w[k, j])) for i in 4, j in 5, k in 8\nreturn m\n");
  EXPECT_EQ(flops(dag), 4 * 5 * 8 * 2 + 5 * 8);
}

TEST(Count, CountsTwoProductsOfBf16AsOneOfF32) {
  const ComputeDag dag = *parse_dag(
      "p = PLACEHOLDER [4, 8] bf16\nw = PLACEHOLDER [8, 5] bf16 const\n"
      "m(i, j) += (f32(p[i, k])*f32(w[k, j])) for i in 4, j in 5, k in 8\nr(i, j) = (m[i, j] + 1f) for i in 4, j in 5\n"
      "return r\n");
  EXPECT_EQ(flops(dag), 4 * 5 * 8 + 4 * 5);
}

TEST(Key, IgnoresNamesAndListsWhatComesFromShapes) {
  const std::string text =
      "p = PLACEHOLDER [4]\nq(i) = select((i < 3), p[(i + 1)], 0f) for i in 4  # pad i:row\nreturn q\n";
  const ComputeDag dag = *parse_dag(text);
  const std::string key = workload_key(dag);
  EXPECT_EQ(key.substr(19), ",4,4,3,1]");
  std::string renamed = text;
  for (char& c : renamed) c = c == 'q' ? 'z' : c;
  EXPECT_EQ(workload_key(*parse_dag(renamed)), key);
  EXPECT_TRUE(same_dag(*parse_dag(renamed), dag));
  const auto larger =
      *parse_dag("p = PLACEHOLDER [9]\nq(i) = select((i < 8), p[(i + 1)], 0f) for i in 9  # pad i:row\nreturn q\n");
  EXPECT_EQ(workload_key(larger), key.substr(0, 19) + ",9,9,8,1]");
  EXPECT_FALSE(same_dag(larger, dag));
  const auto other =
      *parse_dag("p = PLACEHOLDER [4]\nq(i) = select((i < 3), p[(i + 1)], 1f) for i in 4  # pad i:row\nreturn q\n");
  EXPECT_NE(workload_key(other).substr(0, 19), key.substr(0, 19));
  EXPECT_EQ(key, "[\"ff77f9e8411a3253\",4,4,3,1]") << "keys are stored in records: they must not change";
}

}  // namespace
}  // namespace whet
