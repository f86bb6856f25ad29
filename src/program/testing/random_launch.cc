#include "program/testing/random_launch.h"

#include "program/testing/launch_sketch.h"

namespace whet::testing {
namespace {

constexpr std::int64_t kBlocks = 3, kLaunchThreads = 64;

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {
    s_.p.name = "random";
    in_ = s_.argument("in", {kBlocks, kLaunchThreads});
    out_ = s_.argument("out", {kBlocks, kLaunchThreads}, true);
    space_ = s_.buffer("space", {kBlocks, kLaunchThreads}, Scope::workspace);
    tile_ = s_.buffer("tile", {2, kLaunchThreads}, Scope::block);
    own_ = s_.buffer("own", {4}, Scope::registers);
  }

  Program run() {
    std::vector<Stmt> top;
    for (std::int64_t launches = rng_.between(1, 2); launches > 0; --launches) {
      if (!top.empty() && rng_.chance(0.7)) top.push_back(grid_barrier());
      s_.b = s_.index("b");
      s_.t = s_.index("t");
      vars_ = {s_.b, s_.t};
      threads_ = rng_.chance(0.5) ? kLaunchThreads : kLaunchThreads / 2;
      std::vector<Stmt> body{store(own_, {number(0, 3)}, float_const(1))};
      for (std::int64_t n = rng_.between(1, 4); n > 0; --n) body.push_back(stmt(2));
      if (rng_.chance(0.6)) body.push_back(block({commit(), wait(0)}));
      top.push_back(s_.launch(rng_.between(1, kBlocks), threads_, block(std::move(body))));
    }
    return s_.with(block(std::move(top)));
  }

 private:
  Expr number(std::int64_t low, std::int64_t high) { return int_const(rng_.between(low, high)); }
  Expr any_var() { return vars_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(vars_.size())))]; }

  /// Mostly the thread's own element.
  Expr element() {
    if (rng_.chance(0.6)) return s_.t;
    switch (rng_.below(4)) {
      case 0:
        return floormod(s_.t + any_var() + rng_.between(0, 2), threads_);
      case 1:
        return max(min(any_var() + any_var(), int_const(kLaunchThreads - 1)), int_const(0));
      case 2:
        return number(0, kLaunchThreads - 1);
      default:
        return s_.t + rng_.between(-1, 1);
    }
  }
  Expr row(std::int64_t rows) {
    if (rng_.chance(0.6)) return rows == kBlocks ? s_.b : floormod(any_var(), rows);
    return rng_.chance(0.8) ? number(0, rows - 1) : any_var();
  }

  Expr read() {
    switch (rng_.below(5)) {
      case 0:
        return s_.read(tile_, {row(2), element()});
      case 1:
        return s_.read(own_, {rng_.chance(0.7) ? number(0, 3) : floormod(any_var(), 5)});
      case 2:
        return rng_.chance(0.5) ? s_.read(space_, {row(kBlocks), element()}) : s_.read(out_, {row(kBlocks), element()});
      default:
        return s_.read(in_, {row(kBlocks), element()});
    }
  }

  Expr value() {
    if (rng_.chance(0.2)) return float_const(1);
    const Expr v = read();
    if (rng_.chance(0.2)) return select(condition(), v, read());
    return rng_.chance(0.3) ? v + read() : v;
  }

  Expr condition() {
    switch (rng_.below(4)) {
      case 0:
        return s_.t < number(1, kLaunchThreads);
      case 1:
        return s_.t < int_const(kLaunchThreads / 2);
      case 2:
        return any_var() < number(0, 4);
      default:
        return rng_.chance(0.3) ? read() < float_const(0) : s_.b < number(0, kBlocks);
    }
  }

  Stmt copied() {
    const Expr from = s_.read(in_, {row(kBlocks), element()});
    const Expr v = rng_.chance(0.3) ? select(condition(), from, float_const(0)) : from;
    return async(store(tile_, {row(2), element()}, rng_.chance(0.05) ? v + v : v));
  }

  Stmt vector_store() {
    const Expr at = ramp(floormod(s_.t, 16) * 4, 1, 4);
    Store n{
        .buffer = rng_.chance(0.5) ? tile_ : out_, .index = {row(2), at}, .value = s_.read(in_, {row(kBlocks), at})};
    if (rng_.chance(0.5)) n.mask = at < broadcast(number(0, kLaunchThreads), 4);
    n.async = rng_.chance(0.2);
    return make_stmt(std::move(n));
  }

  Stmt stmts(int depth) {
    std::vector<Stmt> body;
    for (std::int64_t n = rng_.between(1, 3); n > 0; --n) body.push_back(stmt(depth));
    return block(std::move(body));
  }

  Stmt under(int depth) {
    const Expr i = s_.index("i");
    switch (rng_.below(3)) {
      case 0: {
        const Stmt then_body = stmts(depth - 1);
        return when(condition(), then_body, rng_.chance(0.3) ? stmts(depth - 1) : Stmt());
      }
      case 1: {
        const Expr extent = rng_.chance(0.7) ? number(0, 3) : floormod(any_var(), 4);
        vars_.push_back(i);
        const Stmt body = stmts(depth - 1);
        vars_.pop_back();
        return loop(i, extent, body);
      }
      default: {
        const Expr given = rng_.chance(0.5) ? floordiv(any_var(), rng_.between(1, 40)) : any_var() + any_var();
        vars_.push_back(i);
        const Stmt body = stmts(depth - 1);
        vars_.pop_back();
        return let(i, given, body);
      }
    }
  }

  Stmt stmt(int depth) {
    if (depth > 0 && rng_.chance(0.35)) return under(depth);
    switch (rng_.below(9)) {
      case 0:
      case 1:
        return barrier();
      case 2:
        return rng_.chance(0.5) ? block({copied(), commit(), wait(0)}) : copied();
      case 3:
        return rng_.chance(0.4) ? commit() : wait(static_cast<int>(rng_.below(2)));
      case 4: {
        const Stmt taken = store(own_, {number(0, 3)}, value());
        return rng_.chance(0.4) ? crossed(taken, static_cast<int>(rng_.between(1, 31))) : taken;
      }
      case 5:
        return vector_store();
      case 6:
        return store(tile_, {row(2), element()}, value());
      default:
        return store(rng_.chance(0.8) ? out_ : space_, {row(kBlocks), element()}, value());
    }
  }

  Rng& rng_;
  LaunchSketch s_;
  BufferId in_, out_, space_, tile_, own_;
  std::int64_t threads_ = kLaunchThreads;
  std::vector<Expr> vars_;
};

}  // namespace

Program random_launches(Rng& rng) { return Generator(rng).run(); }

std::vector<Tensor> random_launch_arguments(std::uint64_t seed) {
  Rng rng(seed);
  return {Tensor::random({DType::f32, {kBlocks, kLaunchThreads}}, rng),
          Tensor::random({DType::f32, {kBlocks, kLaunchThreads}}, rng)};
}

}  // namespace whet::testing
