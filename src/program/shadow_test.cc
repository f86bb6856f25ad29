#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "program/flatten.h"
#include "program/interpret.h"
#include "program/testing/copied_tile.h"
#include "program/testing/launch_sketch.h"
#include "program/testing/mutants.h"
#include "program/testing/random_launch.h"
#include "program/verify.h"
#include "tensor/compare.h"

namespace whet::testing {
namespace {

using Order = InterpretOptions::BlockOrder;

/// Two blocks of 64 threads over x[2, 64], out[2, 64], a workspace, block memory u[64] and registers r[2].
struct Rooms : LaunchSketch {
  BufferId x = argument("x", {2, 64}), out = argument("out", {2, 64}, true);
  BufferId space = buffer("space", {2, 64}, Scope::workspace);
  BufferId u = buffer("u", {64}, Scope::block), r = buffer("r", {2}, Scope::registers);

  Expr mine(BufferId id) const { return read(id, {b, t}); }
  Expr next() const { return floormod(t + 1, 64); }
  Stmt result(Expr value) const { return store(out, {b, t}, std::move(value)); }
  Stmt copied() const { return async(store(u, {t}, mine(x))); }

  /// What the launch of `body` writes, or the error without its beginning.
  std::string run(std::vector<Stmt> body, InterpretOptions options = {}) const {
    return run_all({launch(2, 64, block(std::move(body)))}, options);
  }
  std::string run_all(std::vector<Stmt> top, InterpretOptions options = {}) const {
    const Program program = with(block(std::move(top)));
    Rng rng(5);
    std::vector<Tensor> tensors{Tensor::random({DType::f32, {2, 64}}, rng), Tensor(DType::f32, {2, 64})};
    const Status status = interpret(program, tensors, options);
    if (!status.ok()) return status.error().message.substr(status.error().message.find("launch"));
    std::string text;
    for (std::int64_t i = 0; i < tensors[1].size(); ++i)
      text += tensors[1].get(i) == tensors[0].get(i) ? "=" : tensors[1].get(i) == 0 ? "0" : "?";
    return text;
  }
};

const std::string kCopied(128, '=');

/// The same in all orders.
void expect_always(const Rooms& s, const std::vector<Stmt>& body, const std::string& want) {
  for (const Order order : {Order::forward, Order::backward, Order::shuffled})
    for (const std::uint64_t seed : {0, 1, 2}) {
      const std::string got = s.run(body, {.blocks = order, .seed = seed});
      // Which of several threads is named depends on the order.
      if (want == kCopied) {
        EXPECT_EQ(got, want);
      } else {
        EXPECT_NE(got.find(want), std::string::npos) << got;
      }
    }
}

TEST(ALaunch, RunsItsThreadsInEveryOrder) {
  const Rooms s;
  expect_always(s, {store(s.u, {s.t}, s.mine(s.x)), s.result(s.read(s.u, {s.t}))}, kCopied);
  expect_always(s, {store(s.u, {s.next()}, s.read(s.x, {s.b, s.next()})), barrier(), s.result(s.read(s.u, {s.t}))},
                kCopied);
}

TEST(ALaunch, NamesBothStatements) {
  const Rooms s;
  EXPECT_EQ(
      s.run({barrier(), store(s.u, {s.t}, s.mine(s.x)), when(s.t < int_const(1), s.result(s.read(s.u, {s.next()})))}),
      "launch 0, block 0, interval 1: thread 0 reads u[1], which thread 1 has written in the same interval: "
      "line 6 `out[b, t] = u[floormod((t + 1), 64)]` after line 4 `u[t] = x[b, t]`");
}

TEST(Stores, RaceWithOtherThreadsInTheirInterval) {
  const Rooms s;
  const Stmt all = store(s.u, {int_const(0)}, s.mine(s.x)), same = store(s.u, {int_const(0)}, float_const(1));
  expect_always(s, {all}, "has written another value in the same interval");
  EXPECT_EQ(s.run({same, same, s.result(float_const(0))}), std::string(128, '0')) << "equal bits do no harm";
  const Stmt own = store(s.u, {s.t}, s.mine(s.x));
  const Stmt reads = store(s.r, {int_const(0)}, s.read(s.u, {s.next()}));
  expect_always(s, {own, barrier(), reads, own, s.result(s.mine(s.x))}, "has read in the same interval");
  expect_always(s, {own, barrier(), reads, barrier(), own, s.result(s.mine(s.x))}, kCopied);
}

/// A reads, B reads, B writes: the last reader alone would not show that A has read.
TEST(Stores, RaceWithAnEarlierReaderAlthoughTheWriterReadsLast) {
  const Rooms s;
  const Stmt fill = when(s.t < int_const(1), store(s.u, {int_const(0)}, float_const(1)));
  const auto only = [&](std::int64_t thread, const Stmt& body) { return when(equal(s.t, int_const(thread)), body); };
  const Stmt reads = store(s.r, {int_const(0)}, s.read(s.u, {int_const(0)}));
  const Stmt writes = store(s.u, {int_const(0)}, float_const(2));
  const Stmt a = only(7, reads), b = only(9, block({reads, writes})), end = s.result(s.mine(s.x));
  EXPECT_NE(
      s.run({fill, barrier(), a, b, end}).find("thread 9 writes u[0], which thread 7 has read in the same interval"),
      std::string::npos);
  EXPECT_EQ(s.run({fill, barrier(), b, end}), kCopied) << "a lone reader may write";
  EXPECT_EQ(s.run({fill, barrier(), a, barrier(), b, end}), kCopied);
}

TEST(Reads, RaceWithWritersOfTheirInterval) {
  const Rooms s;
  const Stmt fill = store(s.u, {s.t}, s.mine(s.x));
  expect_always(s, {fill, s.result(s.read(s.u, {s.next()}))}, "has written in the same interval");
  const Stmt equal_bits = store(s.u, {int_const(0)}, float_const(1));
  expect_always(s, {equal_bits, s.result(s.read(s.u, {int_const(0)}))}, "has written in the same interval");
}

TEST(Reads, NeedAValue) {
  const Rooms s;
  expect_always(s, {s.result(s.read(s.u, {s.t}))}, ", which nothing has written: line 3");
  expect_always(s, {s.result(s.read(s.r, {int_const(0)}))}, " reads r[0], which nothing has written");
  expect_always(s, {s.result(s.read(s.space, {s.b, s.t}))}, ", which nothing has written");
  const Stmt first = when(s.b < int_const(1), store(s.u, {s.t}, s.mine(s.x)));
  EXPECT_EQ(s.run({first, s.result(s.read(s.u, {s.t}))}).substr(0, 16), "launch 0, block ") << "of another block";
}

TEST(Copies, AreUnderWayUntilTheirThreadWaits) {
  const Rooms s;
  const Stmt own = s.result(s.read(s.u, {s.t}));
  expect_always(s, {s.copied(), commit(), wait(0), own}, kCopied);
  expect_always(s, {s.copied(), commit(), own, wait(0)}, "'s copy to it is under way");
  expect_always(s, {s.copied(), commit(), wait(1), own, wait(0)}, "'s copy to it is under way");
  expect_always(s, {s.copied(), wait(0), own}, "'s copy to it is under way");
  expect_always(s, {s.copied(), commit(), store(s.u, {s.t}, float_const(0)), wait(0)}, "'s copy to it is under way");
  expect_always(s, {s.copied(), s.copied(), commit(), wait(0)}, "'s copy to it is under way");
}

TEST(Copies, AreSeenByOthersBehindTheNextBarrier) {
  const Rooms s;
  const Stmt other = s.result(s.read(s.u, {s.next()}));
  expect_always(s, {s.copied(), commit(), wait(0), other}, "has written in the same interval");
  expect_always(s, {s.copied(), commit(), barrier(), wait(0), other}, "has written in the same interval");
  EXPECT_EQ(s.run({s.copied(), commit(), wait(0), barrier(), other}).find("launch"), std::string::npos);
  EXPECT_EQ(s.run({s.copied(), commit(), barrier(), barrier(), wait(0), barrier(), other}).find("launch"),
            std::string::npos)
      << "copies stay under way across barriers";
}

TEST(Copies, CountAsStoresWhereTheyBegin) {
  const Rooms s;
  const Stmt reads = store(s.r, {int_const(0)}, s.read(s.u, {s.next()}));
  const Stmt fill = store(s.u, {s.t}, float_const(1)), end = block({commit(), wait(0)});
  expect_always(s, {fill, barrier(), reads, s.copied(), end}, "has read in the same interval");
  expect_always(s, {store(s.u, {s.next()}, float_const(1)), s.copied(), end}, "has written another value");
}

TEST(Copies, KeepTheirSource) {
  const Rooms s;
  const Stmt fill = store(s.space, {s.b, s.t}, s.mine(s.x)), again = store(s.space, {s.b, s.t}, float_const(0));
  const Stmt copied = async(store(s.u, {s.t}, s.mine(s.space))), read = s.result(s.read(s.u, {s.t}));
  expect_always(s, {fill, copied, commit(), again, wait(0), read}, "while a copy of it is under way");
  expect_always(s, {fill, copied, commit(), wait(0), again, read}, kCopied);
  const Stmt others = store(s.space, {s.b, s.next()}, float_const(0));
  expect_always(s, {fill, copied, commit(), barrier(), wait(0), others, read}, "has read in the same interval");
  expect_always(s, {fill, copied, commit(), wait(0), barrier(), others, read}, kCopied);
}

TEST(Copies, FillWithZeroWhereTheirGuardFails) {
  const Rooms s;
  const Expr inside = s.t < int_const(32);
  const Stmt copied = async(store(s.u, {s.t}, select(inside, s.mine(s.x), float_const(0))));
  const std::string half = std::string(32, '=') + std::string(32, '0');
  EXPECT_EQ(s.run({copied, commit(), wait(0), s.result(s.read(s.u, {s.t}))}), half + half);
  const Stmt other = async(store(s.u, {s.t}, select(inside, s.mine(s.x), float_const(1))));
  expect_always(s, {other}, "an asynchronous store is no copy into block memory");
  expect_always(s, {async(s.result(s.mine(s.x)))}, "an asynchronous store is no copy into block memory");
}

TEST(ABlock, EndsWithoutCopiesUnderWay) {
  const Rooms s;
  const Stmt end = s.result(s.mine(s.x));
  expect_always(s, {s.copied(), commit(), end}, "ends while its copy to u[");
  expect_always(s, {s.copied(), end}, "ends while its copy to u[");
  expect_always(s, {s.copied(), commit(), commit(), wait(1), commit(), end}, kCopied);
}

TEST(Barriers, NeedAllThreads) {
  Rooms s;
  const Stmt end = s.result(s.mine(s.x));
  expect_always(s, {when(s.t < int_const(32), barrier()), end}, "does not reach a barrier that others reach: line 4");
  const Expr i = s.index("i");
  expect_always(s, {loop(i, s.t, barrier()), end}, "does not reach a barrier that others reach");
  expect_always(s, {when(s.b < int_const(1), barrier()), end}, kCopied);
}

TEST(Blocks, MayNotMeetInAnElement) {
  const Rooms s;
  const Expr other = int_const(1) - s.b;
  const Stmt fill = store(s.space, {s.b, s.t}, s.mine(s.x)), end = s.result(s.mine(s.x));
  const auto taken = [&](const Expr& row) { return store(s.r, {int_const(0)}, s.read(s.out, {row, s.t})); };
  expect_always(s, {store(s.out, {int_const(0), s.t}, cast(DType::f32, s.b))},
                "another block has written another value");
  EXPECT_EQ(s.run({store(s.out, {int_const(0), s.t}, float_const(1))}).find("launch"), std::string::npos)
      << "equal bits";
  expect_always(s, {taken(other), end}, "another block has ");
  expect_always(s, {taken(s.b), end}, kCopied);
  expect_always(s, {fill, s.result(s.read(s.space, {s.b, s.t}))}, kCopied);
}

TEST(Launches, NeedAGridBarrierBetweenThem) {
  const Rooms s;
  const Stmt first = s.launch(2, 64, store(s.space, {s.b, s.t}, s.mine(s.x)));
  const Stmt second = s.launch(2, 64, s.result(s.mine(s.space)));
  EXPECT_EQ(s.run_all({first, grid_barrier(), second}), kCopied);
  EXPECT_NE(s.run_all({first, second}).find("which another block has written"), std::string::npos);
}

TEST(CrossStores, TakeTheValueOfAnotherThreadOfTheWarp) {
  Rooms s;
  const BufferId lane = s.buffer("lane", {1}, Scope::registers, DType::i64);
  const std::vector<Expr> zero{int_const(0)};
  const Stmt take = crossed(store(lane, zero, s.t), 5);
  EXPECT_EQ(s.run({take, s.result(select(equal(s.read(lane, zero) + s.t, s.t * 2), s.mine(s.x), float_const(0)))}),
            std::string(128, '0'));
  const Expr bit = floormod(floordiv(s.t, 4), 2), low = floormod(s.t, 2);
  const Expr want = s.t + int_const(5) - bit * 8 - low * 2;
  EXPECT_EQ(s.run({take, s.result(select(equal(s.read(lane, zero), want), s.mine(s.x), float_const(0)))}), kCopied);
  const Stmt end = s.result(s.mine(s.x));
  expect_always(s, {when(s.t < int_const(32), take), end}, kCopied);
  expect_always(s, {when(s.t < int_const(40), take), end}, "is in a warp of which a part alone exchanges values");
  expect_always(s, {crossed(store(s.u, {s.t}, s.mine(s.x)), 1), end},
                "takes the value of another warp's thread, or not");
}

TEST(Divergence, RunsEachThreadsOwnIterations) {
  Rooms s;
  const BufferId sum = s.buffer("sum", {1}, Scope::local, DType::i64);
  const std::vector<Expr> zero{int_const(0)};
  const Expr i = s.index("i"), total = s.read(sum, zero);
  const Stmt add = store(sum, zero, total + i);
  const Stmt check = s.result(select(equal(total * 2, s.t * (s.t - 1)), s.mine(s.x), float_const(0)));
  EXPECT_EQ(s.run({store(sum, zero, int_const(0)), loop(i, s.t, add), check}), kCopied);
  const Stmt halves = when(s.t < int_const(20), store(sum, zero, s.t), store(sum, zero, int_const(0) - s.t));
  EXPECT_EQ(
      s.run({halves, s.result(select(equal(max(total, int_const(0) - total), s.t), s.mine(s.x), float_const(0)))}),
      kCopied);
}

// ---- A product of matrices through block memory

std::string outcome(const Program& p, Order order, std::uint64_t seed) {
  std::vector<Tensor> arguments = tile_arguments(seed);
  const Status status = interpret(p, arguments, {.blocks = order, .seed = seed});
  if (!status.ok()) return status.error().message;
  return compare(arguments[2], tile_product(arguments)).max_abs == 0 ? "right" : "wrong";
}

TEST(CopiedTiles, AreRightInAllOrders) {
  for (const int stages : {1, 2, 3, 4})
    for (const Order order : {Order::forward, Order::backward, Order::shuffled})
      for (const std::uint64_t seed : {0, 1, 2})
        EXPECT_EQ(outcome(copied_tile({.stages = stages}), order, seed), "right");
}

struct WrongTile {
  std::string name;
  CopiedTile tile;
};

std::vector<WrongTile> wrong_tiles() {
  std::vector<WrongTile> all;
  for (const int n : {1, 2, 3, 4}) {
    const auto add = [&](const std::string& name, CopiedTile tile) {
      tile.stages = n;
      all.push_back({std::to_string(n) + " stages, " + name, tile});
    };
    add("no barrier", {.barrier = false});
    add("no wait", {.waits = false});
    add("a wait one too long", {.waits_longer = 1});
    add("barrier before wait", {.barrier_after_wait = false});
    add("no commits", {.commits = false});
    if (n == 1) {
      add("no first barrier", {.first_barrier = false});
      continue;
    }
    add("no empty commits", {.empty_commits = false});
    add("another stage read", {.read_stage = 1});
    add("one stage fewer", {.fewer_stages = 1});
    add("narrow fetch", {.narrow = true});
    add("doubled fetch", {.twice = true});
    add("refill behind the work", {.refill_last = true});
  }
  return all;
}

TEST(MutantsOfCopiedTiles, AreFoundOrHarmless) {
  int found = 0;
  std::vector<std::string> harmless;
  for (const WrongTile& mutant : wrong_tiles()) {
    const Program p = copied_tile(mutant.tile);
    const std::string first = outcome(p, Order::forward, 0);
    for (const Order order : {Order::forward, Order::backward, Order::shuffled})
      for (const std::uint64_t seed : {0, 1, 2}) {
        const std::string other = outcome(p, order, seed);
        EXPECT_EQ(other == "right", first == "right") << mutant.name << ": " << first << " or " << other;
      }
    EXPECT_NE(first, "wrong") << mutant.name << " is found by its shadow, not by the values alone";
    first == "right" ? harmless.push_back(mutant.name) : void(++found);
  }
  EXPECT_EQ(found, 35);
  EXPECT_EQ(harmless,
            (std::vector<std::string>{"2 stages, no empty commits", "2 stages, refill behind the work",
                                      "3 stages, refill behind the work", "4 stages, refill behind the work"}));
}

TEST(MutantsOfCopiedTiles, DoNotSurvive) {
  const GpuLimits& limits = limits_of(GpuTarget{});
  const auto census = [&](int stages) {
    return judge_mutants(copied_tile({.stages = stages}), limits, tile_arguments);
  };
  const Census one = census(1), two = census(2), three = census(3);
  EXPECT_EQ(one.survivors.size() + two.survivors.size() + three.survivors.size(), 0u);
  EXPECT_EQ(one.found, 11);
  EXPECT_EQ(two.found, 18);
  EXPECT_EQ(three.found, 24);
  EXPECT_EQ(three.harmless_ones, std::vector<std::string>{"`wait 1` at the begin: one group fewer may be under way"});
  const Census flat = judge_mutants(flatten(copied_tile({.stages = 3})), limits, tile_arguments);
  EXPECT_EQ(flat.survivors.size(), 0u);
  EXPECT_GE(flat.found, three.found);
}

TEST(Mutants, NameTheirMistakes) {
  Rooms s;
  const BufferId v = s.buffer("v", {3, 64}, Scope::block);
  const Expr k = s.index("k"), r = s.index("r"), c = s.index("c");
  const Stmt fill = store(v, {floormod(k, 3), s.t}, s.mine(s.x));
  const Stmt use = when(k < int_const(2), store(s.out, {s.b, s.t}, s.read(v, {floormod(k, 3), r * 8 + c})));
  const Program p = s.with(s.launch(
      2, 64,
      let(r, floordiv(s.t, 8),
          let(c, floormod(s.t, 8), loop(k, int_const(3), block({barrier(), fill, barrier(), use, wait(1)}))))));
  std::string text;
  for (const Mutant& mutant : mutants_of(p)) {
    text += mutant.what + "\n";
    EXPECT_NE(to_text(mutant.program), to_text(p)) << mutant.what;
  }
  EXPECT_EQ(text, R"(`for k in 0 .. 3`: the barrier at its begin moved before it
`barrier block` at the begin removed
`barrier block` at the begin moved down
`v[floormod(k, 3), t] = x[b, t]`: the stage of v behind it
`v[floormod(k, 3), t] = x[b, t]`: the stage of v before it
`barrier block` after `v[floormod(k, 3), t] = x[b, t]` removed
`barrier block` after `v[floormod(k, 3), t] = x[b, t]` moved up
`barrier block` after `v[floormod(k, 3), t] = x[b, t]` moved down
`if (k < 2)`: a bound one more
`if (k < 2)`: a bound one less
`out[b, t] = v[floormod(k, 3), ((r*8) + c)]`: the stage of v behind it
`out[b, t] = v[floormod(k, 3), ((r*8) + c)]`: the stage of v before it
`wait 1` after `if (k < 2)` removed
`wait 1` after `if (k < 2)`: one group more may be under way
`wait 1` after `if (k < 2)`: one group fewer may be under way
let r and let c exchanged
)");
}

TEST(RandomLaunches, FailOrSucceedInAllOrders) {
  Rng rng(7);
  std::map<std::string, int> count;
  for (int round = 0; round < random_cases(2000); ++round) {
    const Program p = random_launches(rng);
    const Status status = verify(p, {.launches = &limits_of(GpuTarget{})});
    std::string first;
    std::vector<Tensor> want;
    for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
      std::vector<Tensor> arguments = random_launch_arguments(3);
      const Status run = interpret(p, arguments, {.blocks = order, .seed = rng.next()});
      const std::string text = run.ok() ? "ok" : run.error().message;
      if (order == Order::forward) {
        first = text;
        want = arguments;
        continue;
      }
      ASSERT_EQ(run.ok(), first == "ok") << first << " or " << text << "\n" << to_text(p);
      if (run.ok()) {
        ASSERT_EQ(compare(arguments[1], want[1]).mismatches, 0) << to_text(p);
      }
    }
    for (const char* proven :
         {"outside its extents", "does not reach", "a part alone", "is no copy", "takes the value"}) {
      ASSERT_TRUE(!status.ok() || first.find(proven) == std::string::npos) << first << "\n" << to_text(p);
    }
    ++count[std::string(status.ok() ? "verified" : "refused") + (first == "ok" ? ", runs" : ", fails")];
  }
  EXPECT_GT(count["verified, runs"], random_cases(200));
  EXPECT_GT(count["verified, fails"], random_cases(200)) << "races";
  EXPECT_GT(count["refused, fails"], random_cases(200));
}

}  // namespace
}  // namespace whet::testing
