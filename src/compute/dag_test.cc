#include "compute/dag.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "compute/count.h"

namespace whet {
namespace {

constexpr const char* kConv = R"(p0 = PLACEHOLDER [1, 56, 56, 64]
pad_temp(i0, i1, i2, i3) = select((i1 >= 1) && (i1 < 57) && (i2 >= 1) && (i2 < 57), p0[i0, (i1 - 1), (i2 - 1), i3], 0f) for i0 in 1, i1 in 58, i2 in 58, i3 in 64  # pad i0:batch i1:row i2:column i3:channel
p1 = PLACEHOLDER [3, 3, 64, 128] const
conv2d_nhwc(nn, yy, xx, ff) += (pad_temp[nn, ((yy*2) + ry), ((xx*2) + rx), rc]*p1[ry, rx, rc, ff]) for nn in 1, yy in 28, xx in 28, ff in 128, ry in 3, rx in 3, rc in 64  # conv nn:batch yy:row xx:column ff:out_channel ry:tap rx:tap rc:in_channel
p2 = PLACEHOLDER [128] const
relu(n, y, x, c) = max((conv2d_nhwc[n, y, x, c] + p2[c]), 0f) for n in 1, y in 28, x in 28, c in 128  # elementwise
return relu
)";

std::string round_trip(const std::string& text) {
  const auto dag = parse_dag(text);
  return dag.ok() ? to_text(*dag) : dag.error().message;
}

TEST(DagText, IsReadBackAsItWasWritten) {
  EXPECT_EQ(round_trip(kConv), kConv);
  for (const std::string text : {
           "i = PLACEHOLDER [4] i64 const < 10\nt = PLACEHOLDER [10] f16\n"
           "o(a): f16 = t[i[a]] for a in 4\nreturn o\n",
           "p = PLACEHOLDER [3, 5] i32\ns(): i32 max= max(p[i, j], -3i32) for i in 3, j in 5\n"
           "m(): i32 min= p[i, j] for i in 3, j in 5\nreturn s, m\n",
           "p = PLACEHOLDER [3] bool\nq(i): bool = (p[i] && !p[0]) || (i == 2) || (i != 1) for i in 3\nreturn q\n",
           "p = PLACEHOLDER [3] bool\nq(i): bool = p[i] && (p[0] && !(p[1] || p[2])) for i in 3\nreturn q\n",
           "p = PLACEHOLDER [] f64\nq(): f64 = pow(exp(neg(p[])), (0.1d/-infd))\nreturn q\n",
           "p = PLACEHOLDER [7]\nq(i) *= (p[floormod((i + r), 7)] + f32(floordiv(i, 2))) for i in 7, r in 2\nreturn "
           "q\n",
           "\"conv 1\" = PLACEHOLDER [7]\n\"a\\\"b\"(\"in\") = \"conv 1\"[\"in\"] for \"in\" in 7\nreturn \"a\\\"b\"\n",
       }) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(DagText, KeepsFloatsExactly) {
  const double values[] = {0.1,
                           -0.0,
                           1e-45,
                           3.4028234663852886e38,
                           1.0 / 3,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           16777217};
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    ComputeDag dag;
    Expr body = float_const(2, dtype);
    for (double value : values) body = make_expr(dtype, 1, Binary{BinaryOp::add, body, float_const(value, dtype)});
    dag.outputs = {dag.add({"out", dtype, {}, Element{{}, {}, {}, body}})};
    const auto back = parse_dag(to_text(dag));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_TRUE(same(back->ops[0].element().body, body));
  }
}

TEST(DagText, MakesRepeatedAxisNamesDistinct) {
  ComputeDag dag;
  const OpId p = dag.add({"p", DType::f32, {2, 3}, Placeholder{}});
  Element e{{{"i", 2}, {"i", 3}}, {}, {}, {}};
  e.body = load(dag, p, {axis_var(e, 0), axis_var(e, 1)});
  dag.outputs = {dag.add({"q", DType::f32, {2, 3}, e})};
  EXPECT_EQ(to_text(dag), "p = PLACEHOLDER [2, 3]\nq(i, i_1) = p[i, i_1] for i in 2, i_1 in 3\nreturn q\n");
}

struct Refusal {
  std::string text, message;
};

TEST(DagText, IsRefusedWithTheLineAndTheReason) {
  const Refusal cases[] = {
      {"p = PLACEHOLDER [4\n", "DAG, line 1, column 19: expected ',', found the end of the line"},
      {"p = PLACEHOLDER [4] f33\n", "DAG, line 1, column 24: no dtype is named 'f33'"},
      {"q(i) = p[i] for i in 4\n", "DAG, line 1, column 10: no op before this line is named 'p'"},
      {"p = PLACEHOLDER [4]\nq(i) = (p[i] + 1) for i in 4\n", "DAG, line 2, column 17: the operands are f32 and i64"},
      {"p = PLACEHOLDER [4]\nq(i) = p[i, i] for i in 4\nreturn q\n", "DAG: op 1 'q' loads 'p' of shape 4 at 2 indices"},
      {"p = PLACEHOLDER [4]\nq(i) += p[i] for i in 4\nreturn q\n",
       "DAG: op 1 'q' must have reduce axes exactly when it has a reducer"},
      {"p = PLACEHOLDER [4]\nreturn p\n", "DAG: the output 'p' is a placeholder"},
      {"p = PLACEHOLDER [4]\nq(i) = p[j] for i in 4\n", "DAG, line 2, column 11: no axis is named 'j'"},
      {"", "DAG: a DAG has at least one output"},
  };
  for (const Refusal& c : cases) EXPECT_EQ(round_trip(c.text), c.message);
}

TEST(DagText, SurvivesGarbage) {
  const std::string text = kConv;
  const std::string letters = "()[]<>=+-*/,:#\"\\! \n09aifx.";
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = text;
    for (std::int64_t edits = rng.between(1, 4); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bad.size())));
      const char c = rng.chance(0.9) ? letters[static_cast<std::size_t>(rng.below(27))] : static_cast<char>(rng.next());
      switch (rng.below(3)) {
        case 0:
          bad[at] = c;
          break;
        case 1:
          bad.insert(at, 1, c);
          break;
        default:
          bad.erase(at, static_cast<std::size_t>(rng.between(1, 9)));
      }
    }
    const auto dag = parse_dag(bad);
    if (!dag.ok()) continue;
    EXPECT_EQ(round_trip(to_text(*dag)), to_text(*dag));
  }
  std::string chain = "q() = 1f", nested = "q() = ";
  for (int i = 0; i < 100000; ++i) chain += " + 1f", nested += "(";
  EXPECT_FALSE(parse_dag(chain + "\nreturn q").ok());
  EXPECT_FALSE(parse_dag(nested + "\nreturn q").ok());
}

TEST(Dag, KnowsWhoReadsWhat) {
  const ComputeDag dag = *parse_dag(kConv);
  EXPECT_EQ(inputs_of(dag, OpId(3)), (std::vector<OpId>{OpId(1), OpId(2)}));
  EXPECT_EQ(consumers_of(dag, OpId(3)), (std::vector<OpId>{OpId(5)}));
  EXPECT_TRUE(is_constant(dag, OpId(2)));
  EXPECT_FALSE(is_constant(dag, OpId(3)));
}

TEST(Dag, KnowsHowManyElementsAreReadAtMost) {
  const ComputeDag conv = parse_dag(kConv).value();
  EXPECT_EQ(elements_read(conv, OpId(2)), 3 * 3 * 64 * 128) << "all, though each is read many times";
  const ComputeDag taken =
      parse_dag(
          "t = PLACEHOLDER [1000, 4] const\nr = PLACEHOLDER [3] i64 < 1000\nw = PLACEHOLDER [9] const\n"
          "y(i) += (t[r[i], k]*w[k]) for i in 3, k in 4\nz(i) = (y[i] + w[8]) for i in 3\nreturn z\n")
          .value();
  EXPECT_EQ(elements_read(taken, OpId(0)), 12);
  EXPECT_EQ(elements_read(taken, OpId(1)), 3);
  EXPECT_EQ(elements_read(taken, OpId(2)), 9) << "12 reads of one op and 3 of the other";
  EXPECT_EQ(elements_read(taken, OpId(4)), 0) << "nothing reads it";
}
TEST(Dag, DropsDeadOpsAndKeepsPlaceholders) {
  ComputeDag dag = *parse_dag(
      "p = PLACEHOLDER [4]\nu = PLACEHOLDER [4]\ndead(i) = u[i] for i in 4\nq(i) = p[i] for i in 4\n"
      "r(i) = q[i] for i in 4\nreturn r\n");
  EXPECT_EQ(to_text(without_dead_ops(dag)),
            "p = PLACEHOLDER [4]\nu = PLACEHOLDER [4]\nq(i) = p[i] for i in 4\nr(i) = q[i] for i in 4\nreturn r\n");
}

}  // namespace
}  // namespace whet
