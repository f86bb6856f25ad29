// What the verifier asks of launches.

#include "program/launch.h"

#include <gtest/gtest.h>

#include "program/testing/copied_tile.h"
#include "program/testing/launch_sketch.h"
#include "program/verify.h"

namespace whet::testing {
namespace {

std::string message(const Status& s) { return s.ok() ? "ok" : s.error().message; }

const GpuLimits& limits(int arch) { return limits_of(GpuTarget{.arch = arch}); }

/// Three blocks of 64 threads over x[3, 64], out[3, 64], block memory u[64] and registers r[2].
struct Sketch : LaunchSketch {
  BufferId x = argument("x", {3, 64}), out = argument("out", {3, 64}, true);
  BufferId u = buffer("u", {64}, Scope::block), r = buffer("r", {2}, Scope::registers);

  Expr mine() const { return read(x, {b, t}); }
  Stmt taken(int cross) const { return crossed(store(r, {int_const(0)}, mine()), cross); }
  std::string top(Stmt body, int arch = 80) const {
    const std::string text = message(verify(with(std::move(body)), {.launches = &limits(arch)}));
    return text.substr(text.find(": ") == std::string::npos ? 0 : text.find(": ") + 2);
  }
  std::string check(std::vector<Stmt> body, int arch = 80) const {
    return top(launch(3, 64, block(std::move(body))), arch);
  }
};

TEST(VerifyLaunches, AcceptsTilesOfAllStages) {
  for (const int stages : {1, 2, 3, 4})
    EXPECT_EQ(message(verify(copied_tile({.stages = stages}), {.launches = &limits(80)})), "ok");
}

TEST(VerifyLaunches, NeedsTheTwoLoops) {
  const Sketch s;
  const Stmt body = store(s.out, {s.b, s.t}, s.mine());
  EXPECT_EQ(s.top(s.launch(3, 64, body)), "ok");
  EXPECT_EQ(s.top(body), "a statement beside the launches is no grid barrier");
  EXPECT_EQ(s.top(block({s.launch(3, 64, body), barrier()})), "a barrier of threads is outside of a launch");
  EXPECT_EQ(s.top(loop(s.b, int_const(3), loop(s.t, int_const(64), body), LoopKind::block)),
            "the block loop 'b' is not directly around one thread loop");
  const std::string size =
      "the loops 'b' and 't' of a launch are not from 0 with constant extents, or the threads are no multiple of 32 up "
      "to 1024";
  EXPECT_EQ(s.top(s.launch(3, 48, body)), size);
  EXPECT_EQ(s.top(s.launch(3, 2048, body)), size);
  EXPECT_EQ(s.top(s.launch(0, 64, body)), size);
  EXPECT_EQ(s.top(loop(s.b, int_const(3), loop(s.t, s.b, body, LoopKind::thread), LoopKind::block)), size);
}

TEST(VerifyLaunches, NeedsOtherIndicesInAnotherLaunch) {
  Sketch s;
  const Stmt first = s.launch(3, 64, store(s.out, {s.b, s.t}, s.mine()));
  EXPECT_EQ(s.top(block({first, grid_barrier(), first})), "variable 0 'b' is bound twice");
  LaunchSketch other = s;
  other.b = other.index("b");
  other.t = other.index("t");
  s.p.vars = other.p.vars;
  EXPECT_EQ(
      s.top(block({first, grid_barrier(), other.launch(3, 64, store(s.out, {other.b, other.t}, float_const(0)))})),
      "ok");
}

TEST(VerifyLaunches, HasTheLoopsOfOneThreadInside) {
  Sketch s;
  const Expr i = s.index("i");
  const Stmt body = store(s.out, {s.b, s.t}, cast(DType::f32, i));
  for (const LoopKind kind : {LoopKind::serial, LoopKind::unrolled, LoopKind::vectorized})
    EXPECT_EQ(s.check({loop(i, int_const(4), body, kind)}), "ok");
  EXPECT_EQ(s.check({loop(i, int_const(4), body, LoopKind::thread)}), "the thread loop 'i' is inside a launch");
  EXPECT_EQ(s.check({loop(i, int_const(4), body, LoopKind::warp)}), "the warp loop 'i' is inside a launch");
  EXPECT_EQ(s.check({grid_barrier()}), "a barrier is inside another statement");
}

TEST(VerifyLaunches, ProvesAccessesByTheNumbersOfBlocksAndThreads) {
  const Sketch s;
  EXPECT_EQ(s.check({store(s.out, {s.b, s.t + 1}, s.mine())}),
            "store to 'out' at index (t + 1), which is not proven to be inside 0 .. 64");
  EXPECT_EQ(s.check({when(s.t < int_const(63), store(s.out, {s.b, s.t + 1}, s.mine()))}), "ok");
  EXPECT_EQ(s.top(s.launch(4, 64, store(s.out, {s.b, s.t}, float_const(0)))),
            "store to 'out' at index b, which is not proven to be inside 0 .. 3");
}

TEST(VerifyLaunches, LetsAllThreadsMeet) {
  Sketch s;
  const Expr i = s.index("i"), n = s.index("n"), m = s.index("m");
  const std::string differs = "is under a condition or bound that differs between threads, or is data: ";
  EXPECT_EQ(s.check({when(s.b < int_const(1), barrier())}), "ok");
  EXPECT_EQ(s.check({loop(i, s.b, let(n, i + s.b, when(n < int_const(2), block({barrier(), commit(), wait(0)}))))}),
            "ok");
  EXPECT_EQ(s.check({when(s.t < int_const(32), barrier())}), "a barrier " + differs + "(t < 32)");
  EXPECT_EQ(s.check({when(s.t < int_const(32), {}, commit())}), "a commit " + differs + "(t < 32)");
  EXPECT_EQ(s.check({loop(i, s.t, wait(0))}), "a wait " + differs + "t");
  EXPECT_EQ(s.check({let(n, floordiv(s.t, 64), let(m, n + s.b, when(m < int_const(2), barrier())))}),
            "a barrier " + differs + "(m < 2)");
  EXPECT_EQ(s.check({loop(i, s.t, when(i < int_const(2), barrier()))}), "a barrier " + differs + "(i < 2)");
  const Expr data = s.read(s.x, {int_const(0), int_const(0)}) < float_const(0);
  EXPECT_EQ(s.check({when(data, barrier())}), "a barrier " + differs + "(x[0, 0] < 0f)");
  EXPECT_EQ(s.check({wait(-1)}), "a wait for all but -1 groups");
}

TEST(VerifyLaunches, LetsCopiesCopy) {
  Sketch s;
  const BufferId bytes = s.argument("bytes", {3, 64}, false, DType::u8),
                 v = s.buffer("v", {64}, Scope::block, DType::u8);
  const Stmt copied = async(store(s.u, {s.t}, s.mine()));
  EXPECT_EQ(s.check({copied, commit(), wait(0)}), "ok");
  EXPECT_EQ(s.check({async(store(s.u, {s.t}, select(s.t < int_const(9), s.mine(), float_const(0))))}), "ok");
  EXPECT_EQ(s.check({copied}, 75), "store to 'u' is asynchronous, which compute capability 75 cannot");
  const std::string no_copy = "is asynchronous, but no copy from an argument or workspace into block memory";
  EXPECT_EQ(s.check({async(store(s.u, {s.t}, s.mine() + float_const(1)))}), "store to 'u' " + no_copy);
  EXPECT_EQ(s.check({async(store(s.u, {s.t}, select(s.t < int_const(9), s.mine(), float_const(1))))}),
            "store to 'u' " + no_copy);
  EXPECT_EQ(s.check({async(store(s.u, {s.t}, s.read(s.u, {s.t})))}), "store to 'u' " + no_copy);
  EXPECT_EQ(s.check({async(store(s.out, {s.b, s.t}, s.mine()))}), "store to 'out' " + no_copy);
  const auto narrow = [&](const Expr& at) { return async(store(v, {at}, s.read(bytes, {s.b, at}))); };
  EXPECT_EQ(s.check({narrow(s.t)}), "store to 'v' copies 1 bytes asynchronously, not 4, 8 or 16");
  const Expr i = s.index("i");
  EXPECT_EQ(s.check({when(s.t < int_const(16), loop(i, int_const(4), narrow(s.t * 4 + i), LoopKind::vectorized))}),
            "ok");
  EXPECT_EQ(s.check({when(s.t < int_const(16), narrow(ramp(s.t * 4, 1, 4)))}), "ok");
  EXPECT_EQ(s.check({when(s.t < int_const(2), narrow(ramp(s.t * 32, 1, 32)))}),
            "store to 'v' copies 32 bytes asynchronously, not 4, 8 or 16");
}

TEST(VerifyLaunches, CountsTheMemoryOfABlock) {
  Sketch s;
  const std::int64_t most = limits(80).block_memory_per_block / 4;
  const BufferId large = s.buffer("large", {most - 64}, Scope::block), more = s.buffer("more", {1}, Scope::block);
  const Stmt both = block({store(s.u, {s.t}, float_const(0)), store(large, {s.t}, float_const(0))});
  EXPECT_EQ(s.check({both}), "ok");
  EXPECT_EQ(s.check({both, store(more, {int_const(0)}, float_const(0))}),
            "a block needs 166916 bytes of memory, of 166912");
}

TEST(VerifyLaunches, LetsWholeWarpsExchange) {
  Sketch s;
  const Expr w = s.index("w"), n = s.index("n");
  const std::string part = "store to 'r' takes another thread's value where not the whole warp may be: ";
  EXPECT_EQ(s.check({s.taken(31)}), "ok");
  EXPECT_EQ(s.check({s.taken(32)}), "store to 'r' takes the value of thread ^ 32, of another warp");
  EXPECT_EQ(s.check({when(s.t < int_const(32), s.taken(1))}), "ok");
  EXPECT_EQ(s.check({when(s.t < int_const(33), s.taken(1))}), part + "(t < 33)");
  EXPECT_EQ(s.check({let(w, floordiv(s.t, 16), let(n, floordiv(w, 2), when(equal(n, int_const(1)), s.taken(1))))}),
            "ok");
  EXPECT_EQ(s.check({let(w, floordiv(s.t, 32), when(w < s.b, s.taken(1)))}), "ok");
  EXPECT_EQ(s.check({when(s.b * 64 + s.t < int_const(100), s.taken(1))}), part + "(((b*64) + t) < 100)");
  EXPECT_EQ(s.check({when(s.mine() < float_const(0), s.taken(1))}), part + "(x[b, t] < 0f)");
  EXPECT_EQ(s.check({crossed(store(s.u, {s.t}, s.mine()), 1)}),
            "store to 'u' takes another thread's value, but is not into registers or local memory");
}

}  // namespace
}  // namespace whet::testing
