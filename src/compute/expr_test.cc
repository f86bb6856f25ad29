#include "compute/expr.h"

#include <gtest/gtest.h>

#include "compute/dag.h"

namespace whet {
namespace expr_test {

const Expr x = var(VarId(0), "x"), y = var(VarId(1), "y");
const Expr p = load(DType::f32, SourceId(0), {x});

std::string text(const Expr& e) {
  return to_text(e, [](SourceId id) { return "p" + std::to_string(id.value); });
}

TEST(Build, FoldsConstantsAndIdentities) {
  EXPECT_EQ(text(int_const(7) * 3 - 1), "20");
  EXPECT_EQ(text(floordiv(int_const(-7), 2)), "-4");
  EXPECT_EQ(text(floormod(int_const(-7), 2)), "1");
  EXPECT_EQ(text(floordiv(int_const(7), int_const(0))), "floordiv(7, 0)");
  EXPECT_EQ(text((x + 0) * 1), "x");
  EXPECT_EQ(text(x * 0 + y), "y");
  EXPECT_EQ(text(min(x, x)), "x");
  EXPECT_EQ(text(select(bool_const(false), x, y)), "y");
  EXPECT_EQ(text(x < y && bool_const(true)), "(x < y)");
  EXPECT_EQ(text(p + float_const(0)), "(p0[x] + 0f)") << "it would change -0";
  EXPECT_EQ(text(int_const(200, DType::i8)), "-56i8");
  EXPECT_EQ(text(cast(DType::u8, float_const(300))), "255u8");
  EXPECT_EQ(text(float_const(0.1) * float_const(10, DType::f32)), "1f");
}

TEST(Build, KeepsRampsAndBroadcasts) {
  EXPECT_EQ(text(ramp(x, 2, 4) * 3 + y), "ramp(((x*3) + y), 6, 4)");
  EXPECT_EQ(text(broadcast(p, 4) + float_const(1)), "broadcast((p0[x] + 1f), 4)");
  EXPECT_EQ(text(ramp(x, 0, 4)), "broadcast(x, 4)");
  EXPECT_EQ(load(DType::f32, SourceId(0), {x, ramp(y, 1, 8)})->lanes, 8);
}

TEST(Rewrite, AsksFromTheTopAndRebuildsFolded) {
  const Expr e = select(x < y, p + p, float_const(0));
  const auto x_is = [](std::int64_t value) {
    return [=](VarId id) { return id == VarId(0) ? int_const(value) : Expr(); };
  };
  EXPECT_EQ(text(substitute(e, x_is(3))), "select((3 < y), (p0[3] + p0[3]), 0f)");
  EXPECT_EQ(text(substitute(substitute(e, x_is(3)), [](VarId) { return int_const(1); })), "0f");
  EXPECT_EQ(substitute(e, [](VarId) { return Expr(); }).get(), e.get()) << "nothing changed: the same node";
}

TEST(Rewrite, ReplacesSeveralVariablesAtOnce) {
  const std::pair<VarId, Expr> values[] = {{VarId(0), y}, {VarId(64), int_const(5)}};  // 0 and 64 share a bit
  const Expr other = var(VarId(64), "other");
  EXPECT_EQ(text(substitute(x + other * y, values)), "(y + (5*y))");
  EXPECT_TRUE(uses(p + p, VarId(0)));
  EXPECT_FALSE(uses(p + p, VarId(64)));
  const Expr kept = p * p;
  EXPECT_EQ(substitute(kept, Substitution(values + 1, 1)).get(), kept.get()) << "nothing changed: the same node";
}

TEST(Same, ComparesStructureAndIgnoresNames) {
  EXPECT_TRUE(same(x + y, var(VarId(0), "other") + y));
  EXPECT_EQ(hash(x + y), hash(var(VarId(0), "other") + y));
  EXPECT_FALSE(same(x + y, y + x));
  EXPECT_FALSE(same(float_const(0), float_const(-0.0)));
  EXPECT_TRUE(same(float_const(0.0 / 0.0), -float_const(0.0 / 0.0)));
}

}  // namespace expr_test
}  // namespace whet
