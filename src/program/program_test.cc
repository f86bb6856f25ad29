#include "program/program.h"

#include <gtest/gtest.h>

#include "program/flatten.h"
#include "program/interpret.h"
#include "program/simplify.h"
#include "program/testing/random_program.h"
#include "program/verify.h"

namespace whet {
namespace {

/// Builds programs briefly: variables by name, buffers in[24], out[4, 6].
struct Sketch {
  Program p;
  BufferId in, out, tmp, acc;

  Sketch() {
    p.name = "sketch";
    in = p.add({"in", DType::f32, {24}, Scope::argument, 0, false, false});
    out = p.add({"out", DType::f32, {4, 6}, Scope::argument, 1, false, true});
    tmp = p.add({"tmp", DType::f32, {4, 6}, Scope::workspace, -1, false, false});
    acc = p.add({"acc", DType::f32, {8}, Scope::registers, -1, false, false});
  }
  Expr index(const std::string& name) { return var(p.fresh_var(), name); }
  static Stmt loop(const Expr& i, const Expr& min, const Expr& extent, Stmt body, LoopKind kind = LoopKind::serial) {
    const Var& v = std::get<Var>(i->kind);
    return make_stmt(Loop{v.id, v.name, min, extent, kind, std::move(body)});
  }
  static Stmt loop(const Expr& i, std::int64_t extent, Stmt body, LoopKind kind = LoopKind::serial) {
    return loop(i, int_const(0), int_const(extent), std::move(body), kind);
  }
  Stmt store(BufferId b, std::vector<Expr> index, Expr value, Expr mask = {}) {
    return make_stmt(Store{b, std::move(index), std::move(value), std::move(mask)});
  }
  Expr read(BufferId b, std::vector<Expr> index) {
    return load(p.buffer(b).dtype, SourceId(b.value), std::move(index));
  }
  Program with(Stmt body) {
    p.body = std::move(body);
    return p;
  }
};

std::vector<Tensor> arguments() {
  Rng rng(11);
  return {Tensor::random({DType::f32, {24}}, rng), Tensor(DType::f32, {4, 6})};
}

std::string body_text(const Program& p) { return to_text(p, p.body); }
std::string message(const Status& s) { return s.ok() ? "ok" : s.error().message; }

/// What the program writes, or the error.
std::string outcome(const Program& p, int workers = 1) {
  std::vector<Tensor> tensors = arguments();
  const Status status = interpret(p, tensors, {.workers = workers});
  if (!status.ok()) return status.error().message;
  std::string text;
  for (std::int64_t i = 0; i < tensors[1].size(); ++i) text += std::to_string(tensors[1].get(i)) + " ";
  return text;
}

TEST(ProgramText, ReadsLikeLoops) {
  Sketch s;
  const Expr y = s.index("y"), x = s.index("x"), k = s.index("x"), b = s.index("base");
  const Expr lanes = ramp(x * 4, 1, 4);
  const Stmt vector =
      s.store(s.out, {y, lanes}, masked_load(DType::f32, SourceId(0), {lanes}, lanes < broadcast(int_const(5), 4)),
              lanes < broadcast(int_const(6), 4));
  const Stmt inner =
      Sketch::loop(k, max(int_const(0), int_const(1) - y), int_const(3) - max(int_const(0), int_const(1) - y),
                   s.store(s.acc, {k}, float_const(0.5)));
  const Stmt let = make_stmt(
      Let{std::get<Var>(b->kind).id, "base", min(y * 6, int_const(8)), s.store(s.tmp, {y, b}, s.read(s.in, {b}))});
  const Stmt branch = make_stmt(If{x < int_const(1), vector, let});
  const Program p = s.with(
      block({Sketch::loop(y, 4, Sketch::loop(x, 2, block({branch, inner}), LoopKind::unrolled), LoopKind::parallel),
             make_stmt(Barrier{})}));
  EXPECT_EQ(to_text(p), R"(program sketch
argument 0 in: f32[24]
argument 1 out: f32[4, 6] written
workspace tmp: f32[4, 6]
registers acc: f32[8]
run
  parallel y in 0 .. 4
    unroll x in 0 .. 2
      if (x < 1)
        out[y, ramp((x*4), 1, 4)] = (in[ramp((x*4), 1, 4)] where (ramp((x*4), 1, 4) < broadcast(5, 4))) where (ramp((x*4), 1, 4) < broadcast(6, 4))
      else
        let base = min((y*6), 8)
        tmp[y, base] = in[base]
      for x_1 in max(0, (1 - y)) .. 3
        acc[x_1] = 0.5f
  barrier
)");
}

TEST(Flatten, GivesRowMajorIndicesAndKeepsRamps) {
  Sketch s;
  const Expr y = s.index("y"), x = s.index("x");
  const Program p = s.with(
      Sketch::loop(y, 4,
                   Sketch::loop(x, 3,
                                block({
                                    s.store(s.out, {y, x}, s.read(s.tmp, {y, x + 1})),
                                    s.store(s.out, {y, ramp(x * 2, 1, 2)}, s.read(s.tmp, {y, ramp(x * 2, 1, 2)})),
                                    s.store(s.out, {ramp(int_const(0), 1, 4), x}, broadcast(float_const(1), 4)),
                                }))));
  EXPECT_EQ(body_text(flatten(p)), R"(for y in 0 .. 4
  for x in 0 .. 3
    out[((y*6) + x)] = tmp[((y*6) + (x + 1))]
    out[ramp(((y*6) + (x*2)), 1, 2)] = tmp[ramp(((y*6) + (x*2)), 1, 2)]
    out[ramp(x, 6, 4)] = broadcast(1f, 4)
)");
  EXPECT_EQ(body_text(flatten(flatten(p))), body_text(flatten(p)));
}

TEST(Simplify, UsesLoopsAndConditions) {
  Sketch s;
  const Expr y = s.index("y"), x = s.index("x"), k = s.index("k"), b = s.index("b"), c = s.index("c");
  const auto let = [](const Expr& v, Expr value, Stmt body) {
    return make_stmt(Let{std::get<Var>(v->kind).id, std::get<Var>(v->kind).name, std::move(value), std::move(body)});
  };
  const Stmt guarded =
      make_stmt(If{y < int_const(2), make_stmt(If{y < int_const(3), s.store(s.out, {y, x}, float_const(1)), {}}),
                   s.store(s.out, {y, x}, select(y >= int_const(2), float_const(2), float_const(3)))});
  const Stmt once =
      Sketch::loop(k, y * 2, int_const(1),
                   s.store(s.out, {floordiv(k, 2), x}, s.read(s.in, {floormod(k, 2) + min(x, int_const(9))})));
  const Stmt never = Sketch::loop(s.index("n"), y, int_const(-1) - y, s.store(s.out, {y, x}, float_const(1)));
  const Stmt lets = let(b, y + 0, let(c, int_const(1), s.store(s.out, {b, c}, float_const(0))));
  const Program p = s.with(Sketch::loop(y, 4, Sketch::loop(x, 6, block({guarded, once, never, lets}))));
  EXPECT_EQ(body_text(simplify(p)), R"(for y in 0 .. 4
  for x in 0 .. 6
    if (y < 2)
      out[y, x] = 1f
    else
      out[y, x] = 2f
    out[y, x] = in[x]
    out[y, 1] = 0f
)");
}

TEST(Simplify, DropsMasksThatAreDecided) {
  Sketch s;
  const Expr x = s.index("x");
  const Expr at = ramp(x * 4, 1, 4);
  const auto below = [&](std::int64_t end) { return at < broadcast(int_const(end), 4); };
  const Program p = s.with(
      Sketch::loop(x, 6,
                   block({s.store(s.out, {at}, broadcast(float_const(1), 4), below(24)),
                          s.store(s.out, {at}, broadcast(float_const(2), 4), below(0)),
                          s.store(s.out, {at}, masked_load(DType::f32, SourceId(0), {at}, below(24)), below(23))})));
  EXPECT_EQ(body_text(simplify(p)), R"(for x in 0 .. 6
  out[ramp((x*4), 1, 4)] = broadcast(1f, 4)
  out[ramp((x*4), 1, 4)] = in[ramp((x*4), 1, 4)] where (ramp((x*4), 1, 4) < broadcast(23, 4))
)");
}

TEST(Interpret, RunsLoopsMasksAndVectors) {
  Sketch s;
  const Expr x = s.index("x");
  const Expr at = ramp(x * 4, 1, 4);
  const Expr v = s.read(s.in, {at}) + broadcast(cast(DType::f32, x), 4);
  const Program p =
      s.with(Sketch::loop(x, 6, s.store(s.out, {at}, v, at < broadcast(int_const(10), 4)), LoopKind::parallel));
  std::vector<Tensor> tensors = arguments();
  ASSERT_EQ(message(interpret(p, tensors, {.workers = 3})), "ok");
  for (std::int64_t i = 0; i < 24; ++i) {
    const float want = i < 10 ? static_cast<float>(tensors[0].get(i)) + static_cast<float>(i / 4) : 0;
    EXPECT_EQ(tensors[1].get(i), want);
  }
}

TEST(Interpret, NamesWhatGoesWrong) {
  Sketch s;
  const Expr x = s.index("x"), y = s.index("y");
  const auto run = [&](Stmt body, int workers = 1) { return outcome(s.with(std::move(body)), workers); };
  EXPECT_EQ(run(Sketch::loop(x, 7, s.store(s.out, {int_const(0), x}, float_const(0)))),
            "program 'sketch': store to 'out' at index 6 of dimension 1, outside its extents 4x6");
  EXPECT_EQ(run(s.store(s.out, {int_const(24)}, float_const(0))),
            "program 'sketch': store to 'out' at index 24, outside its extents 4x6");
  EXPECT_EQ(run(s.store(s.out, {int_const(0)}, s.read(s.in, {int_const(-1)}))),
            "program 'sketch': load from 'in' at index -1 of dimension 0, outside its extents 24");
  EXPECT_EQ(run(s.store(s.out, {int_const(0)}, s.read(s.tmp, {int_const(3)}))),
            "program 'sketch': load from 'tmp' of element 3, which nothing has written");
  EXPECT_EQ(run(s.store(s.in, {int_const(0)}, float_const(0))),
            "program 'sketch': stores to the argument 'in', which it does not write");
  EXPECT_EQ(run(Sketch::loop(x, 2, s.store(s.out, {floordiv(int_const(1), x)}, float_const(0)))),
            "program 'sketch': divides by zero");
  const Stmt produce = Sketch::loop(x, 4, s.store(s.tmp, {x, int_const(0)}, float_const(1)), LoopKind::parallel);
  const Stmt consume = Sketch::loop(
      y, 4, s.store(s.out, {y, int_const(0)}, s.read(s.tmp, {int_const(3) - y, int_const(0)})), LoopKind::parallel);
  EXPECT_EQ(
      run(block({produce, consume}), 2),
      "program 'sketch': load from 'tmp' of element 18 by worker 0, which worker 1 wrote without a barrier in between");
  EXPECT_EQ(run(block({produce, make_stmt(Barrier{}), consume}), 2).substr(0, 9), "1.000000 ");
  const auto store_first = [&](Expr value) {
    return Sketch::loop(x, 4, s.store(s.out, {int_const(0), int_const(0)}, std::move(value)), LoopKind::parallel);
  };
  EXPECT_EQ(run(store_first(s.read(s.in, {x})), 2),
            "program 'sketch': store to 'out' of element 0 by worker 1, where worker 0 stored another value without a "
            "barrier in between");
  EXPECT_EQ(run(store_first(float_const(3)), 2).substr(0, 9), "3.000000 ");
}

TEST(Interpret, RoundsEveryOperationOfF32) {
  Sketch s;
  const Expr big = float_const(16777216), one = s.read(s.in, {int_const(0)}) * float_const(0) + float_const(1);
  const Program p = s.with(s.store(s.out, {int_const(0)}, (one * big + one) - one * big));
  EXPECT_EQ(outcome(p).substr(0, 9), "0.000000 ");
}

TEST(Verify, ProvesTailsPadsAndMasks) {
  Sketch s;
  const Expr o = s.index("o"), n = s.index("n"), y = s.index("y"), k = s.index("k"), x = s.index("x"), g = s.index("g");
  const Expr low = max(int_const(0), int_const(1) - y), high = min(int_const(3), int_const(5) - y);
  const Expr at = ramp(x * 16, 1, 16);
  const Expr mask = at < broadcast(int_const(24), 16);
  const Program p = s.with(block({
      // the last tile starts earlier
      Sketch::loop(o, 5, Sketch::loop(n, 5, s.store(s.out, {min(o * 5, int_const(19)) + n}, float_const(0)))),
      // taps that fall outside are left out
      Sketch::loop(y, 4, Sketch::loop(k, low, high - low, s.store(s.out, {y + k - 1, int_const(0)}, float_const(0)))),
      Sketch::loop(x, 2, s.store(s.out, {at}, masked_load(DType::f32, SourceId(0), {at}, mask), mask)),
      Sketch::loop(
          g, 40,
          make_stmt(If{g * 2 < int_const(24) && g >= int_const(1),
                       s.store(s.out, {g * 2 - 1}, select(g < int_const(4), s.read(s.in, {g * 6}), float_const(0))),
                       {}})),
  }));
  EXPECT_EQ(message(verify(p)), "ok");
  EXPECT_EQ(message(verify(flatten(p))), "ok");
  EXPECT_EQ(message(verify(simplify(flatten(p)))), "ok");
  EXPECT_EQ(outcome(p), outcome(simplify(flatten(p))));
}

TEST(Verify, RefusesWhatItCannotProve) {
  Sketch s;
  const Expr x = s.index("x"), y = s.index("y");
  const auto check = [&](Stmt body, VerifyOptions options = {}) {
    return message(verify(s.with(std::move(body)), options));
  };
  EXPECT_EQ(check(Sketch::loop(x, 5, s.store(s.out, {x, int_const(0)}, float_const(0)))),
            "program 'sketch': store to 'out' at index x, which is not proven to be inside 0 .. 4");
  EXPECT_EQ(
      check(Sketch::loop(x, 5, make_stmt(If{x < int_const(5), s.store(s.out, {x, int_const(0)}, float_const(0)), {}}))),
      "program 'sketch': store to 'out' at index x, which is not proven to be inside 0 .. 4");
  EXPECT_EQ(check(s.store(s.out, {y}, float_const(0))), "program 'sketch': variable 1 'y' is used outside its binding");
  EXPECT_EQ(check(Sketch::loop(x, 2, Sketch::loop(x, 2, s.store(s.out, {x}, float_const(0))))),
            "program 'sketch': variable 0 'x' is bound twice");
  EXPECT_EQ(check(s.store(s.in, {int_const(0)}, float_const(0))),
            "program 'sketch': store to 'in', an argument that is not written");
  EXPECT_EQ(check(s.store(s.out, {int_const(0)}, int_const(0))),
            "program 'sketch': store to 'out' of dtype i64, expected f32");
  EXPECT_EQ(check(s.store(s.out, {int_const(0)}, broadcast(float_const(0), 4))),
            "program 'sketch': store to 'out' has 4 lanes at scalar indices");
  EXPECT_EQ(check(Sketch::loop(x, 2, Sketch::loop(y, 2, s.store(s.out, {y}, float_const(0)), LoopKind::parallel))),
            "program 'sketch': the parallel loop 'y' is inside another statement");
  EXPECT_EQ(check(Sketch::loop(x, 2, make_stmt(Barrier{}))), "program 'sketch': a barrier is inside another statement");
  EXPECT_EQ(check(Sketch::loop(
                x, 2, Sketch::loop(y, int_const(0), x, s.store(s.out, {y}, float_const(0)), LoopKind::unrolled))),
            "program 'sketch': the extent of loop 'y' is not constant: x");
  const Stmt unrolled = Sketch::loop(x, 2, s.store(s.acc, {x}, float_const(0)), LoopKind::unrolled);
  EXPECT_EQ(check(unrolled, {.lowered = true}), "program 'sketch': loop 'x' is still to be vectorized or unrolled");
  EXPECT_EQ(check(unrolled), "ok");
}

/// No pass makes such programs; one that does by a mistake is stopped behind it.
TEST(Verify, RefusesMalformedStatements) {
  Sketch s;
  const Expr x = s.index("x"), zero = int_const(0), one = float_const(1);
  const auto refusal = [&](Stmt body) { return message(verify(s.with(std::move(body)), {.proofs = false})); };
  const auto let = [&](Expr value, Stmt body) {
    return make_stmt(Let{std::get<Var>(x->kind).id, "x", std::move(value), std::move(body)});
  };
  const Stmt good = s.store(s.out, {zero}, one);
  ASSERT_EQ(refusal(good), "ok");
  const std::string says = "program 'sketch': ";
  EXPECT_EQ(refusal(Sketch::loop(x, Expr(), zero, good)), says + "the first index of loop 'x' is missing");
  EXPECT_EQ(refusal(Sketch::loop(x, zero, one, good)), says + "the extent of loop 'x' is no i64 scalar: 1f");
  EXPECT_EQ(refusal(let(Expr(), good)), says + "let 'x' has no value");
  EXPECT_EQ(refusal(make_stmt(If{Expr(), good, {}})), says + "an if has no condition");
  EXPECT_EQ(refusal(make_stmt(If{one, good, {}})), says + "the condition of an if is no boolean scalar: 1f");
  EXPECT_EQ(refusal(s.store(BufferId(9), {zero}, one)), says + "a store names no buffer");
  EXPECT_EQ(refusal(s.store(s.out, {zero}, Expr())), says + "store to 'out' has no value");
  EXPECT_EQ(refusal(s.store(s.out, {Expr()}, one)), says + "an expression lacks an operand");
  EXPECT_EQ(refusal(s.store(s.out, {one}, one)), says + "store to 'out' has an index of other lanes, or no i64: 1f");
  EXPECT_EQ(refusal(s.store(s.out, {zero}, one, one)),
            says + "store to 'out' has a mask of other lanes or no booleans: 1f");
  EXPECT_EQ(refusal(s.store(s.out, {zero}, load(DType::f32, SourceId(9), {zero}))), says + "a load names no buffer");
  EXPECT_EQ(refusal(s.store(s.out, {zero}, cast(DType::f32, load(DType::i32, SourceId(s.in.value), {zero})))),
            says + "load from 'in' as i32, expected f32");
  EXPECT_EQ(refusal(make_stmt(Prefetch{BufferId(9), {zero}})), says + "a prefetch names no buffer");
  EXPECT_EQ(refusal(make_stmt(Prefetch{s.acc, {zero}})), says + "prefetch of 'acc', which is registers");
  EXPECT_EQ(refusal(let(one, s.store(s.out, {x}, one))),
            says + "variable 'x' is used with another dtype or number of lanes than it has");
}

TEST(Verify, RefusesMalformedBuffers) {
  const auto refusal = [](void (*damage)(Sketch&)) {
    Sketch s;
    damage(s);
    return message(verify(s.with(Stmt())));
  };
  EXPECT_EQ(refusal([](Sketch&) {}), "ok");
  EXPECT_EQ(refusal([](Sketch& s) { s.p.buffers[0].extents = {-1}; }),
            "program 'sketch': buffer 'in' has a negative extent");
  EXPECT_EQ(refusal([](Sketch& s) { s.p.buffers[0].argument = -1; }),
            "program 'sketch': buffer 'in' is an argument without a number");
  EXPECT_EQ(refusal([](Sketch& s) { s.p.buffers[0].argument = 1; }), "program 'sketch': two buffers are argument 1");
  EXPECT_EQ(refusal([](Sketch& s) { s.p.buffers[1].constant = true; }),
            "program 'sketch': argument 'out' is constant, and written");
}

TEST(Verify, ChecksTheStructureWithoutProofs) {
  Sketch s;
  const Expr x = s.index("x");
  const auto check = [&](Stmt body) { return message(verify(s.with(std::move(body)), {.proofs = false})); };
  const Stmt outside = s.store(s.out, {x, int_const(0)}, float_const(0));
  EXPECT_EQ(check(Sketch::loop(x, 5, outside)), "ok");
  EXPECT_EQ(check(outside), "program 'sketch': variable 0 'x' is used outside its binding");
  EXPECT_EQ(check(Sketch::loop(x, 2, s.store(s.out, {x, x, x}, float_const(0)))),
            "program 'sketch': store to 'out' has 3 indices for 2 extents");
  EXPECT_EQ(check(Sketch::loop(x, 2, s.store(s.out, {x, floordiv(x, x)}, float_const(0)))), "ok");
}

TEST(Verify, LetsCopiesBindAVariableAgainWhereItIsTold) {
  Sketch s;
  const Expr x = s.index("x");
  const Stmt once = Sketch::loop(x, 2, s.store(s.out, {x, int_const(0)}, float_const(0)));
  const Program twice = s.with(block({once, once})), inside = s.with(Sketch::loop(x, 2, once));
  EXPECT_EQ(message(verify(twice)), "program 'sketch': variable 0 'x' is bound twice");
  EXPECT_EQ(message(verify(twice, {.bound_once = false})), "ok");
  EXPECT_EQ(message(verify(inside, {.bound_once = false})), "program 'sketch': variable 0 'x' is bound twice");
}

TEST(EveryRandomProgram, ThatIsVerifiedStaysInsideAndKeepsItsMeaning) {
  Rng rng(42);
  int verified = 0, wrong = 0, unproven = 0;
  for (int round = 0; round < 1200; ++round) {
    const Program p = random_program(rng);
    const std::string want = outcome(p);
    const bool runs = want.find("program") == std::string::npos;
    if (!verify(p).ok()) {
      wrong += !runs;
      continue;
    }
    ++verified;
    ASSERT_TRUE(runs) << want << "\n" << to_text(p);
    const Program flat = flatten(p), simple = simplify(p), both = simplify(flat);
    ASSERT_EQ(outcome(flat), want) << to_text(p) << to_text(flat);
    ASSERT_EQ(outcome(simple), want) << to_text(p) << to_text(simple);
    ASSERT_EQ(outcome(both), want) << to_text(p) << to_text(both);
    ASSERT_EQ(message(verify(simple)), "ok") << to_text(p) << to_text(simple);
    unproven += !verify(flat).ok();
  }
  EXPECT_GT(verified, 120);
  EXPECT_GT(wrong, 120);
  EXPECT_LT(unproven * 50, verified) << "few proofs are lost by flattening";
}

TEST(EveryMutatedProgram, IsRefusedOrHarmless) {
  Rng rng(43);
  int refused = 0, harmless = 0;
  while (refused + harmless < 1000) {
    const Program p = random_program(rng);
    if (!verify(p).ok()) continue;
    for (int k = 0; k < 8; ++k) {
      const Program mutant = mutate(p, rng);
      if (!verify(mutant).ok()) {
        ++refused;
        continue;
      }
      const std::string result = outcome(mutant);
      ASSERT_EQ(result.find("program"), std::string::npos) << result << "\n" << to_text(p) << to_text(mutant);
      ++harmless;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace whet
