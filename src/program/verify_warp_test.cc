#include "program/verify_warp.h"

#include <gtest/gtest.h>

#include "program/testing/launch_sketch.h"

namespace whet::testing {
namespace {

/// A launch of 3 blocks of 64 threads with registers r[1] and block memory u[64].
struct Warps : LaunchSketch {
  BufferId r = buffer("r", {1}, Scope::registers), u = buffer("u", {64}, Scope::block);

  /// The fault of a store that takes the value of thread ^ 1, under a condition that varies between threads where there is one.
  std::string fault(BufferId to, const Expr& condition = {}, int cross = 1) const {
    const Program program = with(launch(3, 64, store(r, {int_const(0)}, float_const(0))));
    const std::optional<LaunchNest> nest = launch_nest(program.body);
    const VerifyOptions options{.launches = &limits_of(GpuTarget{.arch = 80})};
    VerifyState state(program, options);
    for (const Loop* n : {nest->blocks, nest->threads}) state.bind(n->index, n->name, DType::i64, 1);
    state.vars[nest->threads->index.index()].varies = true;
    state.launch = &*nest;
    if (condition.defined()) state.varying.push_back(condition);
    const Stmt taken = crossed(store(to, {int_const(0)}, float_const(0)), cross);
    verify_exchange(state, std::get<Store>(taken->kind), "the store");
    return state.error;
  }

  /// The fault of an access of that column of a row which four lanes have together.
  std::string fault_of_column(const Expr& column) const {
    const Program program = with(launch(3, 64, store(r, {int_const(0)}, float_const(0))));
    const std::optional<LaunchNest> nest = launch_nest(program.body);
    const VerifyOptions options{.launches = &limits_of(GpuTarget{.arch = 80})};
    VerifyState state(program, options);
    for (const Loop* n : {nest->blocks, nest->threads}) state.bind(n->index, n->name, DType::i64, 1);
    state.launch = &*nest;
    verify_own_column(state, column, "the store");
    return state.error;
  }
};

TEST(VerifyWarp, LetsThreadsOfOneWarpExchange) {
  const Warps s;
  EXPECT_EQ(s.fault(s.r), "");
  EXPECT_EQ(s.fault(s.r, {}, 32), "the store takes the value of thread ^ 32, of another warp");
  EXPECT_EQ(s.fault(s.u), "the store takes another thread's value, but is not into registers or local memory");
}

TEST(VerifyWarp, LetsALaneHaveItsPairsOfARow) {
  const Warps s;
  const Expr lane = floormod(s.t, 4);
  EXPECT_EQ(s.fault_of_column(lane * 2 + 1), "");
  EXPECT_EQ(s.fault_of_column(lane * 2 + 8), "");
  EXPECT_NE(s.fault_of_column(lane * 2 + 2), "");
  EXPECT_NE(s.fault_of_column(lane), "");
  EXPECT_EQ(s.fault_of_column(floormod(s.t, 8) * 2), "");  // 2q, or 8 behind it
  EXPECT_NE(s.fault_of_column(floormod(s.t, 8)), "");
  EXPECT_NE(s.fault_of_column(floordiv(s.t, 4) * 2), "");
  EXPECT_NE(s.fault_of_column(int_const(0)), "");
}

TEST(VerifyWarp, NeedsTheWholeWarp) {
  const Warps s;
  EXPECT_EQ(s.fault(s.r, s.t < int_const(32)), "");
  EXPECT_EQ(s.fault(s.r, floordiv(s.t, 32) < s.b), "");
  EXPECT_EQ(s.fault(s.r, s.t < int_const(31)),
            "the store takes another thread's value where not the whole warp may be: (t < 31)");
}

}  // namespace
}  // namespace whet::testing
