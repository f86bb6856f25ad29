#include "compute/affine.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "base/testing/random_cases.h"

namespace whet {
namespace {

const Expr x = var(VarId(0), "x"), y = var(VarId(1), "y"), z = var(VarId(2), "z"), w = var(VarId(3), "w");
Expr n(std::int64_t value) { return int_const(value); }

/// The plain meaning of an integer or boolean expression without loads.
std::int64_t value_of(const Expr& e, const std::map<int, std::int64_t>& vars) {
  auto at = [&](const Expr& inner) { return value_of(inner, vars); };
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return c->value;
  if (const auto* v = std::get_if<Var>(&e->kind)) return vars.at(v->id.value);
  if (const auto* u = std::get_if<Unary>(&e->kind)) return u->op == UnaryOp::neg ? -at(u->a) : !at(u->a);
  if (const auto* s = std::get_if<Select>(&e->kind)) return at(s->condition) ? at(s->if_true) : at(s->if_false);
  if (const auto* c = std::get_if<Cast>(&e->kind)) return at(c->a);
  const auto& b = std::get<Binary>(e->kind);
  const std::int64_t p = at(b.a);
  if (b.op == BinaryOp::logical_and) return p && at(b.b);
  if (b.op == BinaryOp::logical_or) return p || at(b.b);
  const Expr folded = binary(b.op, int_const(p, b.a->dtype), int_const(at(b.b), b.b->dtype));
  return *as_int(folded);
}

Interval small(VarId id) {
  switch (id.value) {
    case 0:
      return {0, 4};
    case 1:
      return {0, 7};
    case 2:
      return {-3, 3};
    default:
      return {0, 2};
  }
}

/// Calls `visit` with every assignment that `small` allows.
void every_value(const std::function<void(const std::map<int, std::int64_t>&)>& visit) {
  for (std::int64_t a = 0; a <= 4; ++a) {
    for (std::int64_t b = 0; b <= 7; ++b) {
      for (std::int64_t c = -3; c <= 3; ++c) {
        for (std::int64_t d = 0; d <= 2; ++d) visit({{0, a}, {1, b}, {2, c}, {3, d}});
      }
    }
  }
}

Expr random_condition(Rng& rng, int depth);
Expr random_index(Rng& rng, int depth) {
  if (depth == 0 || rng.chance(0.1)) {
    const Expr leaves[] = {x, y, z, w, n(rng.between(-9, 9))};
    return leaves[rng.below(5)];
  }
  const Expr a = random_index(rng, depth - 1);
  switch (rng.below(9)) {
    case 0:
      return a + random_index(rng, depth - 1);
    case 1:
      return a - random_index(rng, depth - 1);
    case 2:
      return a * rng.between(-8, 8);
    case 3:
      return floordiv(a, rng.between(1, 8));
    case 4:
      return floormod(a, rng.between(1, 8));
    case 5:
      return min(a, random_index(rng, depth - 1));
    case 6:
      return max(a, random_index(rng, depth - 1));
    case 7:
      return select(random_condition(rng, depth - 1), a, random_index(rng, depth - 1));
    default:
      return a * random_index(rng, 0);
  }
}

Expr random_condition(Rng& rng, int depth) {
  if (depth > 0 && rng.chance(0.4)) {
    const Expr a = random_condition(rng, depth - 1);
    switch (rng.below(3)) {
      case 0:
        return a && random_condition(rng, depth - 1);
      case 1:
        return a || random_condition(rng, depth - 1);
      default:
        return unary(UnaryOp::logical_not, a);
    }
  }
  const BinaryOp ops[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge, BinaryOp::eq, BinaryOp::ne};
  return binary(ops[rng.below(6)], random_index(rng, depth > 0 ? depth - 1 : 0), random_index(rng, 0));
}

TEST(Affine, CollectsTermsAndCancelsThem) {
  EXPECT_TRUE(to_affine(x * 2 + y - x * 2 - y + 3).is_constant());
  EXPECT_TRUE(same(to_affine((x + y) * 3 - x), to_affine(y * 3 + x * 2)));
  EXPECT_EQ(to_affine(floordiv(x, 3) * 4 - floordiv(x, 3)).coefficient(floordiv(x, 3)), 3);
  EXPECT_TRUE(same(to_expr(to_affine(n(3) - y + x * 2)), x * 2 - y + 3));
}

TEST(Bounds, AreExactForAffineExpressions) {
  EXPECT_EQ(bounds(x * 2 - y + 1, small), (Interval{-6, 9}));
  EXPECT_EQ(bounds(x * 2 - x + z - x, small), (Interval{-3, 3}));
}

TEST(Bounds, FollowMinimaIntoSums) {
  EXPECT_EQ(bounds(min(x * 6, n(18)) + w, small), (Interval{0, 20}));
  EXPECT_EQ(bounds(min(x * 6, n(18)) - x * 6, small), (Interval{-6, 0}));
  EXPECT_EQ(bounds(floormod(y, 4), small), (Interval{0, 3}));
  EXPECT_EQ(bounds(y - floordiv(y, 3) * 3, small), (Interval{0, 2}));
}

TEST(Bounds, AreSoundForRandomExpressions) {
  Rng rng(1);
  for (int round = 0; round < testing::random_cases(400); ++round) {
    const Expr e = random_index(rng, 3);
    const Interval range = bounds(e, small);
    every_value([&](const auto& vars) {
      const std::int64_t v = value_of(e, vars);
      ASSERT_TRUE((!range.min || *range.min <= v) && (!range.max || v <= *range.max)) << round;
    });
  }
}

TEST(Facts, KnowThatAPaddedTapStaysInside) {
  Facts facts;
  facts.bind(VarId(0), Interval{0, 55});
  facts.bind(VarId(1), max(n(0), n(1) - x), min(n(2), n(56) - x));
  EXPECT_EQ(facts.bounds(x + y - 1), (Interval{0, 55}));
}

TEST(Facts, KnowThatAGuardedTailStaysInside) {
  Facts facts;
  facts.bind(VarId(0), Interval{0, 2});
  facts.bind(VarId(1), Interval{0, 5});
  EXPECT_EQ(facts.bounds(x * 6 + y), (Interval{0, 17}));
  const auto mark = facts.mark();
  facts.assume(x * 6 + y < n(17) && y >= n(1));
  EXPECT_EQ(facts.bounds(x * 6 + y), (Interval{1, 16}));
  EXPECT_EQ(facts.bounds(x * 12 + y * 2), (Interval{2, 32}));
  facts.rewind(mark);
  EXPECT_EQ(facts.bounds(x * 6 + y), (Interval{0, 17}));
}

TEST(Facts, KnowThatAMaskedRampStaysInside) {
  Facts facts;
  facts.bind(VarId(0), Interval{0, 2});
  const Expr index = ramp(x * 8, 1, 8);
  EXPECT_EQ(facts.bounds(index), (Interval{0, 23}));
  facts.bind(kLane, Interval{0, 7});
  facts.assume(index < broadcast(n(20), 8));
  EXPECT_EQ(facts.bounds(lane_of(index)), (Interval{0, 19}));
}

struct Case {
  Expr input, output;
};

TEST(Simplify, DividesOutWhatItCanProve) {
  const Case cases[] = {
      {floordiv(x * 8 + y, 8), x},
      {floormod(x * 8 + y, 8), y},
      {floordiv(x * 4 + w, 8), floordiv(x, 2)},
      {floormod(x * 4 + w, 8), w + floormod(x, 2) * 4},
      {floordiv(floordiv(y, 2), 2), floordiv(y, 4)},
      {floormod(floormod(y, 6), 3), floormod(y, 3)},
      {floordiv(y, 3) * 6 + floormod(y, 3) * 2, y * 2},
      {floordiv(y + 16, 8), n(2)},
      {min(x, n(9)), x},
      {max(x + y, y), x + y},
      {min(min(y, n(5)), n(3)), min(y, n(3))},
  };
  for (const Case& c : cases) EXPECT_TRUE(same(simplify(c.input, small), c.output));
}

TEST(Simplify, FoldsConditionsThatBoundsDecide) {
  const Case cases[] = {
      {x * 2 + y < n(16), bool_const(true)},
      {x > y + 4, bool_const(false)},
      {x * 2 + y < n(15), x * 2 + y < n(15)},
      {x * 4 < n(7), x < n(2)},
      {x - y < n(1), x < y + 1},
      {equal(x * 2, y * 2 + 1), bool_const(false)},
      {x < n(3) && x < n(4), x < n(3)},
      {select(x < n(3), min(x, n(2)), x), x},
      {unary(UnaryOp::logical_not, x < n(3)), x >= n(3)},
      {ramp(x, 1, 4) < broadcast(n(8), 4), broadcast(bool_const(true), 4)},
  };
  for (const Case& c : cases) EXPECT_TRUE(same(simplify(c.input, small), c.output));
}

TEST(Facts, ThatBoundAVariableOrAQuotientBoundWhatIsMadeOfIt) {
  Facts facts;
  facts.bind(VarId(0), Interval{0, 5999});
  const auto mark = facts.mark();
  facts.assume(x < n(4800));
  EXPECT_EQ(facts.bounds(floordiv(x, 1600)), (Interval{0, 2}));
  facts.rewind(mark);
  facts.assume_not(x < n(4800));
  EXPECT_EQ(facts.bounds(floordiv(x, 400) - 12), (Interval{0, 2}));
  facts.rewind(mark);
  facts.assume(floordiv(x, 56) >= n(3));
  EXPECT_EQ(facts.bounds(floordiv(floordiv(x, 56) + 4, 7)).min, 1);
}
TEST(Facts, AboutTheVerySameMinimumNeedNoCases) {
  Facts facts(small);
  const Expr tile = x + min(y * 6, n(5)) * 2;
  facts.assume(tile < n(9));
  EXPECT_TRUE(facts.proves(tile - 1 < n(8)));
  EXPECT_FALSE(facts.proves(tile - 1 < n(7)));
}

TEST(Facts, AboutAMinimumHoldOfItsMultiples) {
  Facts facts(small);
  const Expr tile = min(y * 6, n(5));
  facts.assume(tile + x < n(4));
  EXPECT_TRUE(facts.proves(tile * 2 + x * 2 + 1 < n(8)));
  EXPECT_FALSE(facts.proves(tile * 2 + x * 2 + 1 < n(7)));
  facts.assume(tile * 3 < n(8));
  EXPECT_TRUE(facts.proves(tile < n(3)));
  EXPECT_FALSE(facts.proves(tile < n(2)));
}

TEST(Simplify, KeepsTheValueOfRandomExpressions) {
  Rng rng(2);
  for (int round = 0; round < testing::random_cases(400); ++round) {
    const Expr e = round % 2 ? random_index(rng, 3) : random_condition(rng, 3);
    const Expr s = simplify(e, small);
    ASSERT_EQ(s->dtype, e->dtype);
    every_value([&](const auto& vars) { ASSERT_EQ(value_of(s, vars), value_of(e, vars)) << round; });
  }
}

TEST(Simplify, KeepsTheValueUnderFactsThatHold) {
  Rng rng(3);
  for (int round = 0; round < testing::random_cases(400); ++round) {
    const Expr guard = random_condition(rng, 2);
    const Expr e = round % 2 ? random_index(rng, 3) : random_condition(rng, 3);
    Facts facts(small);
    facts.assume(guard);
    const Expr s = simplify(e, facts);
    every_value([&](const auto& vars) {
      if (!value_of(guard, vars)) return;
      ASSERT_EQ(value_of(s, vars), value_of(e, vars)) << round;
    });
  }
}

TEST(Affine, SumsOfVariablesAreKnownWhereTheyAreWrittenInOrder) {
  for (const Expr& e : {x, x * 2, x + y, x * 3 + z - y + 4, z - x - y * 2 - 1}) EXPECT_TRUE(is_written_sum(e));
  for (const Expr& e : {n(1), y + x, x + y + x, x - y + z, x - z - y, x + (y + z), x + n(-1), x * -2, min(x, y)})
    EXPECT_FALSE(is_written_sum(e));
  EXPECT_FALSE(sum_of_variables(x + min(y, z)).has_value());
  Rng rng(11);
  for (int round = 0; round < 2000; ++round) {
    const Expr e = random_index(rng, 3);
    if (is_written_sum(e)) {
      EXPECT_TRUE(same(to_expr(to_affine(e)), e));
    }
    if (const auto sum = sum_of_variables(e)) {
      EXPECT_TRUE(same(*sum, to_affine(e)));
    }
  }
}

}  // namespace
}  // namespace whet
