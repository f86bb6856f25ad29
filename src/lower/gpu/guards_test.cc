// The passes that make conditions cheap: whole_guards, unguard_registers, merge_guards.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/gpu/merge_guards.h"
#include "lower/gpu/whole_guards.h"
#include "lower/lower.h"
#include "program/testing/launch_sketch.h"
#include "schedule/steps.h"

namespace whet::testing {
namespace {

std::string after(std::string_view pass, const char* text, const char* steps) {
  const Result<LoopTree> tree = replay(*parse_dag(text), *parse_steps(steps));
  if (!tree.ok()) return tree.error().message;
  const Result<Lowered> lowered = lower_until(*tree, *parse_target("cuda -model=a100"), pass);
  if (!lowered.ok()) return lowered.error().message;
  const std::string program = to_text(lowered->program);
  return program.substr(program.find("run\n") + 4);
}

/// x[3, 64] to y[3, 64] under a condition, in vectors of four.
struct Sketch : LaunchSketch {
  BufferId x = argument("x", {3, 64}), y = argument("y", {3, 64}, true);
  Expr u = index("u");

  std::string whole(const Expr& condition) {
    const Stmt copy = store(y, {b, t}, read(x, {b, t}));
    p.body = loop(u, int_const(4), when(condition, copy), LoopKind::vectorized);
    const Program made = with_whole_guards(p);
    const std::string text = to_text(made, std::get<Loop>(made.body->kind).body);
    return text.substr(0, text.find('\n'));
  }
};

TEST(WholeGuards, AskOneLaneForAll) {
  Sketch s;
  EXPECT_EQ(s.whole(s.t * 4 + s.u < int_const(20)), "if (t < 5)");
  EXPECT_EQ(s.whole(s.t * 4 + s.u >= int_const(20)), "if (t >= 5)");
  EXPECT_EQ(s.whole(s.t * 4 + s.u <= int_const(19)), "if (t < 5)");
  EXPECT_EQ(s.whole(s.t * 8 + s.u * 2 < s.b * 16), "if ((t - (b*2)) < 0)");
  EXPECT_EQ(s.whole((s.b < int_const(2)) && (s.t * 4 + s.u < int_const(8))), "if (b < 2) && (t < 2)");
}
TEST(WholeGuards, KeepTheLanesThatDiffer) {
  Sketch s;
  EXPECT_EQ(s.whole(s.t * 4 + s.u < int_const(21)), "if (((t*4) + u) < 21)");
  EXPECT_EQ(s.whole(s.t * 4 + s.u <= int_const(20)), "if (((t*4) + u) <= 20)");
  EXPECT_EQ(s.whole(s.t * 2 + s.u < int_const(20)), "if (((t*2) + u) < 20)");
  EXPECT_EQ(s.whole(s.t * 4 - s.u < int_const(20)), "if (((t*4) - u) < 20)");
  EXPECT_EQ(s.whole(s.t + s.u < int_const(20)), "if ((t + u) < 20)");
  EXPECT_EQ(s.whole(s.t * 4 + s.u + floordiv(s.u, 2) * 4 < int_const(20)),
            "if ((((t*4) + u) + (floordiv(u, 2)*4)) < 20)");
}
TEST(MergeGuards, StandAroundFourProductsOfBytes) {
  const std::string text = after("merge_guards", R"(
a = PLACEHOLDER [9, 24] i8
b = PLACEHOLDER [21, 24] i8
c(i, j): i32 += (i32(a[i, r])*i32(b[j, r])) for i in 9, j in 21, r in 24
return c
)",
                                 "split l1 8 guard; split l2 4 guard; reorder l0 l3 l4 l5 l6; bind l0 block; bind l3 "
                                 "block; bind l4 thread; cache_write o2 l4; tensorize l6 dp4a_s8");
  EXPECT_NE(text.find("if (((j.0*8) + t) < 21)\n            for r.1 in 0 .. 4  # dp4a_s8\n              c.acc"),
            std::string::npos)
      << text;
}
TEST(WholeGuards, MakeTheLastPartOfASumACopy) {
  // 24 steps by 16: the second part has half of its columns.
  const std::string text = after("async_copies", R"(
a = PLACEHOLDER [20, 24]
b = PLACEHOLDER [24, 36]
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 36, r in 24
return c
)",
                                 "cache_read o0 o2; bind l2 block; bind l3 thread; split l4 16 guard; compute_at o2 l5 "
                                 "block; split l8 4 guard; bind l9 thread; vectorize l10; pipeline l5 2");
  EXPECT_NE(text.find("# async"), std::string::npos) << text;
}

TEST(AsyncCopies, OfBytesAreVectorsOfFourAndMore) {
  const auto copies = [](int lanes) {
    const std::string steps = fmt::format(
        "cache_read o0 o2; bind l2 block; bind l3 thread; split l4 16 guard; compute_at o2 l5 block; split "
        "l8 {} guard; bind l9 thread; vectorize l10; pipeline l5 2",
        lanes);
    return after("async_copies", R"(
a = PLACEHOLDER [20, 32] u8
b = PLACEHOLDER [32, 36] i8
c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for i in 20, j in 36, r in 32
return c
)",
                 steps.c_str());
  };
  for (const int lanes : {4, 8, 16}) EXPECT_NE(copies(lanes).find("# async"), std::string::npos) << copies(lanes);
  for (const int lanes : {1, 2}) {
    EXPECT_EQ(copies(lanes).find("# async"), std::string::npos) << copies(lanes);
    EXPECT_NE(copies(lanes).find("] = a["), std::string::npos) << copies(lanes);
  }
}
TEST(AsyncCopies, OfUnrolledPaddingAreStores) {
  // Row 0 of a tile is padding whatever the part of the sum; the other one is copied.
  const std::string text = after("unroll", R"(
a = PLACEHOLDER [1, 16]
b = PLACEHOLDER [16, 8]
p(i, r) = select((i >= 1), a[(i - 1), r], 0f) for i in 2, r in 16
c(i, j) += (p[i, r]*b[r, j]) for i in 2, j in 8, r in 16
return c
)",
                                 "reorder l3 l2; bind l3 block; bind l2 thread; split l4 4 guard; compute_at o2 l5 "
                                 "block; unroll l7; bind l8 thread; pipeline l5 2");
  EXPECT_NE(text.find("] = 0f\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# async"), std::string::npos) << text;
  EXPECT_EQ(text.find("0f  # async"), std::string::npos) << text;
}

TEST(MergeGuards, BranchOnceForNeighbours) {
  Sketch s;
  const Expr some = s.t < int_const(5), others = s.b < int_const(1);
  const auto put = [&](int k) { return store(s.y, {s.b, int_const(k)}, s.read(s.x, {s.b, s.t})); };
  const auto text = [&](std::vector<Stmt> body) {
    s.p.body = block(std::move(body));
    return to_text(s.p, merge_guards(s.p).body);
  };
  EXPECT_EQ(text({when(some, when(others, put(0))), when(some, when(others, put(1))), when(others, put(2)), put(3),
                  when(others, put(4))}),
            R"(if (t < 5)
  if (b < 1)
    y[b, 0] = x[b, t]
    y[b, 1] = x[b, t]
if (b < 1)
  y[b, 2] = x[b, t]
y[b, 3] = x[b, t]
if (b < 1)
  y[b, 4] = x[b, t]
)");
  const Expr data = s.read(s.y, {s.b, int_const(0)}) < float_const(0);
  EXPECT_EQ(text({when(data, put(0)), when(data, put(1))}), R"(if (y[b, 0] < 0f)
  y[b, 0] = x[b, t]
if (y[b, 0] < 0f)
  y[b, 1] = x[b, t]
)");
  EXPECT_EQ(text({when(some, put(0), put(1)), when(some, put(2))}), R"(if (t < 5)
  y[b, 0] = x[b, t]
else
  y[b, 1] = x[b, t]
if (t < 5)
  y[b, 2] = x[b, t]
)");
}

/// A product in tiles of 12 x 32 a block and 3 x 4 a thread. Of 20 rows the last tile has 8.
constexpr const char* kProduct = R"(
a = PLACEHOLDER [20, 24]
b = PLACEHOLDER [24, 32]
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 32, r in 24
return c
)";
constexpr const char* kTile =
    "cache_read o0 o2; cache_read o1 o3; split l4 12 guard; split l8 3 guard; split l5 4 guard; split l6 8 guard; "
    "reorder l7 l9 l11 l13 l14 l10 l12; bind l7 block; bind l9 thread; bind l11 thread; cache_write o4 l11; ";

std::string unguarded(const char* dag, const std::string& steps) {
  return after("unguard_registers", dag, steps.c_str());
}

TEST(UnguardRegisters, LeaveNoConditionInTheLoopOfATile) {
  const std::string text = unguarded(kProduct, std::string(kTile) + "compute_at o2 l13 block; compute_at o3 l13 block");
  EXPECT_NE(text.find("        for j.1 in 0 .. 4\n          c.acc[i.2, j.1] = 0f\n"), std::string::npos) << text;
  EXPECT_NE(text.find("            for j.1 in 0 .. 4\n              c.acc[i.2, j.1] = (c.acc[i.2, j.1] + "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("if ((((i.1*3) + i.2) + (b*12)) < 20)\n            c[(((i.1*3)"), std::string::npos) << text;
}
TEST(UnguardRegisters, KeepConditionsOfWhatIsReadBeyondATensor) {
  const std::string text = unguarded(kProduct, std::string(kTile) + "inline o2; inline o3");
  EXPECT_NE(text.find("if ((((i.1*3) + i.2) + (b*12)) < 20)\n                c.acc[i.2, j.1] = (c.acc"),
            std::string::npos)
      << text;
}
/// What lies beyond the end may be 0, by which the emulated device's processor divides no integer.
TEST(UnguardRegisters, KeepConditionsOfDivisionsOfIntegers) {
  const auto conditions_in = [](const char* divided, const char* type) {
    const std::string dag = fmt::format(
        "a = PLACEHOLDER [20, 24] {1}\nb = PLACEHOLDER [24, 32] {1}\n"
        "c(i, j): {1} += {0} for i in 20, j in 32, r in 24\nreturn c\n",
        divided, type);
    const std::string text =
        unguarded(dag.c_str(), std::string(kTile) + "compute_at o2 l13 block; compute_at o3 l13 block");
    EXPECT_NE(text.find("c.acc[i.2, j.1] = (c.acc"), std::string::npos) << text;
    return text.find("< 20)\n                c.acc[i.2, j.1] = (c.acc") != std::string::npos;
  };
  EXPECT_TRUE(conditions_in("(b[r, j]/a[i, r])", "i32"));
  EXPECT_FALSE(conditions_in("(b[r, j]*a[i, r])", "i32"));
  EXPECT_FALSE(conditions_in("(b[r, j]/a[i, r])", "f32"));
}
/// 20 terms by 8: the last step has 4. 8 of a warp's threads have columns.
TEST(UnguardRegisters, KeepConditionsOfTermsAndOfThreadsWithoutAnElement) {
  const std::string text = unguarded(R"(
a = PLACEHOLDER [16, 20]
b = PLACEHOLDER [20, 32]
c(i, j) += (a[i, r]*b[r, j]) for i in 16, j in 32, r in 20
return c
)",
                                     "cache_read o0 o2; cache_read o1 o3; split l5 4 guard; split l6 8 guard; reorder "
                                     "l4 l7 l9 l10 l8; bind l4 block; bind l7 thread; cache_write o4 l7; compute_at o2 "
                                     "l9 block; compute_at o3 l9 block");
  EXPECT_NE(text.find("if (t < 8)\n          for r.1 in 0 .. 8\n            for j.1 in 0 .. 4\n              if "
                      "(((r.0*8) + r.1) < 20)\n                c.acc[0, j.1] = (c.acc"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace whet::testing
