#include "compute/size.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/rng.h"
#include "compute/count.h"
#include "compute/dag.h"

namespace whet {
namespace {

/// A DAG as text in which "{name}" stands for numbers that change with the sizes, and what they are.
struct SizedText {
  std::string sizes, text;
  struct Number {
    std::string name, function;
    std::function<std::string(const SizeValues&)> value;
  };
  std::vector<Number> numbers;

  std::string with(const std::function<std::string(const Number&)>& written) const {
    std::string out = text;
    for (const Number& number : numbers)
      for (std::size_t at = 0; (at = out.find("{" + number.name + "}", at)) != std::string::npos;)
        out.replace(at, number.name.size() + 2, written(number));
    return out;
  }
  std::string sized() const {
    return sizes + with([](const Number& number) { return number.function; });
  }
  std::string at(const SizeValues& values) const {
    return with([&](const Number& number) { return number.value(values); });
  }
};

std::string text_of(std::int64_t value) { return std::to_string(value); }

std::vector<SizedText> sized_texts() {
  const SizedText::Number rows{"n", "n", [](const SizeValues& s) { return text_of(s[0]); }};
  return {
      {"n = SIZE 2..40 at 17\n",
       "x = PLACEHOLDER [{n}, 64]\nw = PLACEHOLDER [64, 32] const\n"
       "dense(i, j) += (x[i, k]*w[k, j]) for i in {n}, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel\n"
       "return dense\n",
       {rows}},
      // A softmax over the size, and a mask that ends with it.
      {"n = SIZE 1..40 at 5\n",
       "x = PLACEHOLDER [4, {n}]\nm(i, j) = select((j < {last}), x[i, j], -inff) for i in 4, j in {n}\n"
       "top(i) max= m[i, j] for i in 4, j in {n}\ne(i, j) = exp((m[i, j] - top[i])) for i in 4, j in {n}\n"
       "return e\n",
       {rows, {"last", "(n - 1)", [](const SizeValues& s) { return text_of(s[0] - 1); }}}},
      // A window of stride 2 along two sizes of which one has a step.
      {"h = SIZE 8..16:4 at 12\nw = SIZE 3..9 at 3\n",
       "x = PLACEHOLDER [1, {h}, {w}, 8]\n"
       "pad(a, y, z, c) = select((y >= 1) && (y < {below}) && (z >= 1) && (z < {right}), x[a, (y - 1), (z - 1), c], "
       "0f) "
       "for a in 1, y in {hp}, z in {wp}, c in 8  # pad\n"
       "k = PLACEHOLDER [3, 3, 8] const\n"
       "conv(a, y, z, c) += (pad[a, ((y*2) + r), ((z*2) + s), c]*k[r, s, c]) for a in 1, y in {ho}, z in {wo}, c in 8, "
       "r in 3, s in 3  # depthwise\nreturn conv\n",
       {{"h", "h", [](const SizeValues& s) { return text_of(s[0]); }},
        {"w", "w", [](const SizeValues& s) { return text_of(s[1]); }},
        {"below", "(h + 1)", [](const SizeValues& s) { return text_of(s[0] + 1); }},
        {"right", "(w + 1)", [](const SizeValues& s) { return text_of(s[1] + 1); }},
        {"hp", "(h + 2)", [](const SizeValues& s) { return text_of(s[0] + 2); }},
        {"wp", "(w + 2)", [](const SizeValues& s) { return text_of(s[1] + 2); }},
        {"ho", "floordiv((h + 1), 2)", [](const SizeValues& s) { return text_of((s[0] + 1) / 2); }},
        {"wo", "floordiv((w + 1), 2)", [](const SizeValues& s) { return text_of((s[1] + 1) / 2); }}}},
      // Rows of a batch by a length, numbers that are floats, an index into as many rows.
      {"b = SIZE 1..3 at 2\nids.1 = SIZE 1..12 at 6\n",
       "table = PLACEHOLDER [{rows}, 4]\ni = PLACEHOLDER [{rows}] i64 < {rows}\n"
       "taken(r, c) = (table[i[r], c]*{part}) for r in {rows}, c in 4\nreturn taken\n",
       {{"rows", "(b*ids.1)", [](const SizeValues& s) { return text_of(s[0] * s[1]); }},
        {"part", "(0.5f/f32(b))",
         [](const SizeValues& s) { return s[0] == 1   ? "0.5f"
                                          : s[0] == 2 ? "0.25f"
                                                      : "0.16666667f"; }}}},
  };
}

/// Every value of the sizes.
void for_each_value(const std::vector<SizeRange>& sizes, const std::function<void(const SizeValues&)>& visit) {
  SizeValues values;
  std::function<void(std::size_t)> next = [&](std::size_t k) {
    if (k == sizes.size()) return visit(values);
    for (std::int64_t value = sizes[k].min; value <= sizes[k].max; value += sizes[k].step) {
      values.push_back(value);
      next(k + 1);
      values.pop_back();
    }
  };
  next(0);
}

TEST(SizedDag, IsReadBackAsItWasWritten) {
  for (const SizedText& text : sized_texts()) {
    const auto dag = parse_dag(text.sized());
    ASSERT_TRUE(dag.ok()) << dag.error().message;
    EXPECT_EQ(to_text(*dag), text.sized());
    const auto again = parse_dag(to_text(*dag));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(same_dag(*dag, *again));
  }
}

TEST(SizedDag, IsAtEverySizeTheDagOfItsNumbers) {
  for (const SizedText& text : sized_texts()) {
    const auto sized = parse_dag(text.sized());
    ASSERT_TRUE(sized.ok()) << sized.error().message;
    EXPECT_EQ(workload_key(*sized), workload_key(dag_at(*sized, sized->at)));
    for_each_value(sized->sizes, [&](const SizeValues& values) {
      const ComputeDag at = dag_at(*sized, values);
      EXPECT_EQ(to_text(at), text.at(values));
      EXPECT_TRUE(verify(at).ok());
      EXPECT_EQ(value_at(flops_of_sizes(*sized), values), static_cast<std::int64_t>(flops(at)));
      EXPECT_EQ(value_at(bytes_of_sizes(*sized), values), static_cast<std::int64_t>(bytes(at)));
      EXPECT_TRUE(same_dag(at, *parse_dag(text.at(values))));
      EXPECT_FALSE(same_dag(at, *sized));
    });
  }
}

TEST(SizedDag, IsMovedToOtherValues) {
  for (const SizedText& text : sized_texts()) {
    const ComputeDag sized = *parse_dag(text.sized());
    for_each_value(sized.sizes, [&](const SizeValues& values) {
      const ComputeDag moved = moved_to(sized, values);
      EXPECT_TRUE(verify(moved).ok());
      EXPECT_EQ(workload_key(moved), workload_key(dag_at(sized, values)));
      EXPECT_TRUE(same_dag(moved_to(moved, sized.at), sized));
    });
  }
}

TEST(SizedDag, HasTheNumbersOfTheValuesThatItIsAt) {
  for (const SizedText& text : sized_texts()) {
    const ComputeDag sized = *parse_dag(text.sized()), fixed = dag_at(sized, sized.at);
    EXPECT_EQ(flops(sized), flops(fixed));
    EXPECT_EQ(bytes(sized), bytes(fixed));
    std::vector<Tensor> inputs;
    Rng rng(3);
    for (const Op& op : fixed.ops) {
      if (op.is_placeholder() && is_float(op.dtype)) inputs.push_back(Tensor::random({op.dtype, op.shape}, rng));
      if (op.is_placeholder() && !is_float(op.dtype)) inputs.emplace_back(op.dtype, op.shape);
    }
    const auto got = evaluate(sized, inputs), want = evaluate(fixed, inputs);
    ASSERT_TRUE(got.ok() && want.ok());
    for (std::size_t k = 0; k < want->size(); ++k)
      for (std::int64_t i = 0; i < (*want)[k].size(); ++i) ASSERT_EQ((*got)[k].get(i), (*want)[k].get(i));
  }
}

TEST(SizedDag, KeepsItsSizesWithoutDeadOps) {
  const ComputeDag dag = *parse_dag(
      "n = SIZE 2..9 at 4\np = PLACEHOLDER [n]\ndead(i) = p[i] for i in n\nq(i) = p[i] for i in n\nreturn q\n");
  EXPECT_EQ(to_text(without_dead_ops(dag)),
            "n = SIZE 2..9 at 4\np = PLACEHOLDER [n]\nq(i) = p[i] for i in n\nreturn q\n");
}

TEST(SizedDag, NamesNoAxisAsASize) {
  ComputeDag dag = *parse_dag("n = SIZE 2..9 at 4\np = PLACEHOLDER [n]\nq(i) = p[i] for i in n\nreturn q\n");
  dag.op(OpId(1)).element().axes[0].name = "n";
  EXPECT_EQ(to_text(dag), "n = SIZE 2..9 at 4\np = PLACEHOLDER [n]\nq(n_1) = p[n_1] for n_1 in n\nreturn q\n");
}

struct SizeRefusal {
  std::string text, message;
};

TEST(SizedDag, IsRefusedWithTheReason) {
  const std::string p = "p = PLACEHOLDER [n]\n", n = "n = SIZE 2..9 at 4\n", end = "return q\n";
  const SizeRefusal cases[] = {
      {"n = SIZE 2..9\n", "DAG, line 1, column 14: expected 'at', found the end of the line"},
      {"n = SIZE 9..2 at 4\n",
       "DAG, line 1, size 'n' is 9..2; expected 1 <= least <= largest < 2^31, and whole steps of 1 or more between "
       "them"},
      {"n = SIZE 2..9:2 at 4\n",
       "DAG, line 1, size 'n' is 2..9:2; expected 1 <= least <= largest < 2^31, and whole steps of 1 or more between "
       "them"},
      {"n = SIZE 2..9 at 10\n", "DAG, line 1, size 'n' is at 10; it is 2..9"},
      {n + n, "DAG, line 2, two sizes are named 'n'"},
      {n + p + "m = SIZE 2..9 at 4\n", "DAG, line 3, sizes come before all ops"},
      {n + p + "q(i) = p[i] for i in m\n" + end, "DAG, line 3, column 23: no axis is named 'm'"},
      {n + p + "q(i, j) = p[i] for i in n, j in i\n" + end,
       "DAG, line 3, column 34: a function with 'i', which is no size"},
      {n + p + "q(n) = p[n] for n in 4\n" + end, "DAG, line 3, column 23: 'n' is a size, and the name of no axis"},
      {n + p + "q(i) = p[i] for i in (n - 2)\n" + end,
       "DAG: op 1 'q' has an extent that may be less than 1, or endless, at some size"},
      {n + p + "q(i) = p[i] for i in floordiv(n, 0)\n" + end,
       "DAG, line 3, column 36: a function with a division by no positive constant"},
      {n + p + "q(i) = p[i] for i in (2 + 2)\n" + end, "DAG: op 1 'q' has an extent that is no i64 of sizes"},
      {n + p + "q(i) = (p[i] + exp(f32(n))) for i in n\n" + end,
       "DAG: op 1 'q' has a constant that is a function with more than constants, sizes and arithmetic"},
  };
  for (const SizeRefusal& c : cases) {
    const auto dag = parse_dag(c.text);
    ASSERT_FALSE(dag.ok()) << c.text;
    EXPECT_EQ(dag.error().message, c.message);
  }
}

TEST(SizedDag, IsRefusedWhereItsNumbersAreNotThoseOfItsFunctions) {
  const ComputeDag right =
      *parse_dag("n = SIZE 2..9 at 4\np = PLACEHOLDER [n]\nq(i) = p[i] for i in (n + 1)\nreturn q\n");
  ComputeDag dag = right;
  dag.op(OpId(0)).shape = {5};
  EXPECT_EQ(verify(dag).error().message, "op 0 'p' has the extent 5, but its function gives 4");
  dag = right;
  dag.at = {5};
  EXPECT_FALSE(verify(dag).ok());
  dag = right;
  dag.sizes.clear(), dag.at.clear();
  EXPECT_FALSE(verify(dag).ok());
  dag = right;
  dag.op(OpId(1)).sizes = {size_expr(0, "n")};
  EXPECT_EQ(verify(dag).error().message, "op 1 'q' has the extent 5, but its function gives 4");
}

TEST(SizedDagText, SurvivesGarbage) {
  const std::vector<SizedText> texts = sized_texts();
  const std::string letters = "()[]<>=+-*/,:#\"! \n09nb.";
  Rng rng(11);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = texts[static_cast<std::size_t>(round) % texts.size()].sized();
    for (std::int64_t edits = rng.between(1, 4); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bad.size())));
      const auto letter = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(letters.size())));
      if (rng.chance(0.5))
        bad[at] = letters[letter];
      else if (rng.chance(0.5))
        bad.insert(at, 1, letters[letter]);
      else
        bad.erase(at, static_cast<std::size_t>(rng.between(1, 9)));
    }
    const auto dag = parse_dag(bad);
    if (!dag.ok()) continue;
    const auto again = parse_dag(to_text(*dag));
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << bad;
    EXPECT_TRUE(same_dag(*dag, *again));
    SizeValues low, high;
    for (const SizeRange& size : dag->sizes) low.push_back(size.min), high.push_back(size.max);
    for (const SizeValues& values : {low, high})
      EXPECT_TRUE(verify(dag_at(*dag, values)).ok()) << verify(dag_at(*dag, values)).error().message << "\n" << bad;
  }
}

TEST(SizeExpr, HasTheValueOfItsOperations) {
  const Expr n = size_expr(0, "n"), m = size_expr(1, "m");
  EXPECT_EQ(value_at(floordiv(n * 3 + 1, 4) * m, {7, 5}), 25);
  EXPECT_EQ(value_at(max(n, m) - min(n, int_const(3)), {7, 5}), 4);
  EXPECT_EQ(float_at(float_const(1) / cast(DType::f32, n * m), {7, 3}), static_cast<double>(1.0f / 21.0f));
  EXPECT_TRUE(is_of_sizes(n * m + 1));
  EXPECT_FALSE(is_of_sizes(n + var(VarId(0), "i")));
  EXPECT_FALSE(is_of_sizes(int_const(3)));
  EXPECT_TRUE(same(expr_at(var(VarId(0), "i") * 2 + (n - m), {7, 5}), var(VarId(0), "i") * 2 + 2));
}

TEST(SizeExpr, KnowsTheSizesThatOccurInIt) {
  const Expr n = size_expr(0, "n"), k = size_expr(2, "k"), i = var(VarId(0), "i");
  EXPECT_EQ(sizes_of(k * 2 + floordiv(n + i, 3)), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(sizes_of(i + 1), std::vector<std::size_t>());
  EXPECT_TRUE(has_size(i + k));
  EXPECT_FALSE(has_size(i * 2 + 1));
}

TEST(SizeExpr, HasAllValuesOfTheSizesThatOccurInIt) {
  const std::vector<SizeRange> sizes = {{"n", 2, 8, 3}, {"m", 1, 1000}, {"k", 1, 3, 2}};  // n is 2, 5, 8; k is 1, 3
  const Expr n = size_expr(0, "n"), m = size_expr(1, "m"), k = size_expr(2, "k");
  EXPECT_EQ(all_values(n * k, sizes, 6), (std::vector<std::int64_t>{2, 5, 6, 8, 15, 24}));
  EXPECT_EQ(all_values(floordiv(n, 4), sizes, 3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(all_values(int_const(7), sizes, 1), (std::vector<std::int64_t>{7}));
  EXPECT_FALSE(all_values(n * k, sizes, 5)) << "6 combinations";
  EXPECT_FALSE(all_values(n + m, sizes, 2999));
  EXPECT_EQ(all_values(n + m, sizes, 3000)->size(), 1006u);
}

TEST(SizeRange, IsTheNarrowestThatHasItsValues) {
  EXPECT_EQ(range_of("n", {64, 128, 96}), (SizeRange{"n", 64, 128, 32}));
  EXPECT_EQ(range_of("n", {2, 6, 12}), (SizeRange{"n", 2, 12, 2}));
  EXPECT_EQ(range_of("n", {5}), (SizeRange{"n", 5, 5, 1}));
  EXPECT_EQ(count_of({"n", 64, 128, 32}), 3);
  EXPECT_EQ(count_of({"n", 5, 5}), 1);
}

TEST(SizeBox, HasTheRangesOfItsValues) {
  EXPECT_EQ(ranges_in({{"n", 1, 512}, {"m", 32, 320, 32}}, {{16, 64}, {512, 96}}),
            (std::vector<SizeRange>{{"n", 16, 512}, {"m", 64, 96, 32}}));
}

TEST(SizeBox, ContainsWhatLiesBetweenItsEnds) {
  const SizeBox box{{2, 1}, {9, 4}};
  EXPECT_TRUE(contains(box, {2, 4}));
  EXPECT_FALSE(contains(box, {1, 4}));
  EXPECT_FALSE(contains(box, {9, 5}));
}

}  // namespace
}  // namespace whet
