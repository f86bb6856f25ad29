#include "ranges/numbers.h"

#include <gtest/gtest.h>

#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_graph.h"

namespace whet {
namespace {

Tensor counting(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

/// A window of a matrix.
Tensor cut(const Tensor& whole, std::int64_t row, std::int64_t column, const Shape& shape) {
  Tensor part(whole.dtype(), shape);
  for (std::int64_t r = 0; r < shape[0]; ++r)
    for (std::int64_t c = 0; c < shape[1]; ++c)
      part.set(r * shape[1] + c, whole.get((row + r) * whole.shape()[1] + column + c));
  return part;
}

TEST(WindowIn, FindsPartsAtTheBeginningTheEndAndTheMiddle) {
  const Tensor whole = counting({8, 6});
  EXPECT_EQ(window_in(cut(whole, 0, 0, {5, 6}), whole), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(window_in(cut(whole, 3, 0, {5, 6}), whole), (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(window_in(cut(whole, 2, 2, {4, 4}), whole), (std::vector<std::int64_t>{2, 2} /* 4 and 2 are left */));
  EXPECT_EQ(window_in(cut(whole, 0, 2, {8, 4}), whole), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(window_in(whole, whole), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(window_in(counting({}), counting({})), std::vector<std::int64_t>());
}

TEST(WindowIn, FindsNoneWhereOneElementIsAnother) {
  const Tensor whole = counting({8, 6});
  for (std::int64_t i = 0; i < 30; ++i) {
    Tensor part = cut(whole, 0, 0, {5, 6});
    part.set(i, -1);
    EXPECT_FALSE(window_in(part, whole)) << i;
  }
  EXPECT_FALSE(window_in(counting({9, 6}), whole));
  EXPECT_FALSE(window_in(counting({6}), whole));
  EXPECT_FALSE(window_in(cut(whole, 1, 0, {4, 6}), whole));
}

TEST(ReadingOf, GivesEqualPartsForEqualNetworks) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto a = reading_of(*optimize(testing::random_graph(seed), {}));
    const auto b = reading_of(*optimize(testing::random_graph(seed), {}));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->parts.structure, b->parts.structure);
    EXPECT_EQ(a->parts.numbers, b->parts.numbers);
  }
}

/// With its own numbers as functions a DAG is itself at every size.
TEST(WithFunctions, PutsEachFunctionInItsNumbersPlace) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto reading = reading_of(*optimize(testing::random_graph(seed), {}));
    ASSERT_TRUE(reading.ok());
    for (const ComputeDag& dag : reading->dags) {
      Parts parts;
      append(dag, parts);
      std::vector<Expr> functions;
      const Expr one = size_expr(0, "one");
      for (const Number& number : parts.numbers)
        functions.push_back(number.is_float() || number.dtype != DType::i64 ? Expr() : one * number.integer);
      // 0 * one is 0 itself.
      for (Expr& function : functions)
        if (function.defined() && as_int(function)) function = Expr();
      const ComputeDag sized = with_functions(dag, functions, {{"one", 1, 2}}, {1});
      const Status status = verify(sized);
      ASSERT_TRUE(status.ok()) << status.error().message << "\n" << to_text(sized);
      EXPECT_TRUE(same_dag(dag_at(sized, {1}), dag)) << to_text(sized) << to_text(dag);
      const auto again = parse_dag(to_text(sized));
      ASSERT_TRUE(again.ok()) << again.error().message << "\n" << to_text(sized);
      EXPECT_TRUE(same_dag(*again, sized));
    }
  }
}

TEST(Reading, SaysWhatANumberBelongsTo) {
  testing::GraphBuilder build;
  const ValueId x = build.input("x", {4, 6});
  const ValueId y = build.add("product", MatMulOperator{}, {x, build.constant("w", {6, 5})});
  const auto reading = reading_of(*optimize(build.finish({build.relu("y", y)}), {}));
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->label(0), "the shape of \"x\"");
  EXPECT_EQ(reading->label(reading->dag_at[0] + 1), "the kernel that computes \"y\"");
  EXPECT_EQ(reading->label(reading->window_at.begin()->second), "the window of constant \"w\"");
}

}  // namespace
}  // namespace whet
