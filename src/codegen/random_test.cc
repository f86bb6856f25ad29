#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "codegen/testing/builder.h"
#include "codegen/testing/native.h"
#include "program/interpret.h"

namespace whet {
namespace {

/// Makes programs whose float values are small integers, so that contraction changes nothing and both sides must agree
/// exactly. Every kind of statement and expression occurs; every access is inside its buffer.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : rng_(seed), b_("random" + std::to_string(seed)) {
    floats_ = b_.input(kSize, DType::f32);
    halves_ = b_.input(kSize, DType::f16);
    ints_ = b_.input(kSize, DType::i32);
    bytes_ = b_.input(kSize, DType::u8);
    flags_ = b_.input(kSize, DType::boolean);
    y_ = b_.output(kTasks * kShare, DType::f32);
    z_ = b_.output(kTasks * kShare, DType::i32);
    scratch_ = b_.scratch(Scope::local, kSize);
    tile_ = b_.scratch(Scope::registers, kTile * 4);
    single_ = b_.scratch(Scope::registers, kTile);
    b_.p.body = b_.parallel(kTasks, [&](Expr task) {
      task_ = task;
      indices_ = {task};
      return block({initialize(), statements(3), results()});
    });
  }

  const Program& program() const { return b_.p; }
  std::vector<Tensor> arguments() {
    auto tensor = [&](DType dtype, std::int64_t low, std::int64_t high) {
      Tensor t(dtype, {kSize});
      for (std::int64_t i = 0; i < kSize; ++i) t.set(i, static_cast<double>(rng_.between(low, high)));
      return t;
    };
    return {tensor(DType::f32, -4, 4),
            tensor(DType::f16, -4, 4),
            tensor(DType::i32, -100, 100),
            tensor(DType::u8, 0, 255),
            tensor(DType::boolean, 0, 1),
            Tensor(DType::f32, {kTasks * kShare}),
            Tensor(DType::i32, {kTasks * kShare})};
  }

 private:
  static constexpr std::int64_t kSize = 96, kTasks = 3, kShare = 32;
  static constexpr int kTile = 4;

  bool chance(double p) { return rng_.chance(p); }
  std::int64_t pick(std::int64_t n) { return rng_.below(n); }

  Stmt initialize() {
    std::vector<Stmt> list;
    list.push_back(b_.loop(kSize / 8, [&](Expr i) { return b_.put(scratch_, ramp(i * 8, 1, 8), f32(2, 8)); }));
    for (int i = 0; i < kTile; ++i) {
      list.push_back(b_.put(tile_, ramp(int_const(i * 4), 1, 4), f32(i, 4)));
      list.push_back(b_.put(single_, i, f32(i)));
    }
    return block(std::move(list));
  }

  /// What is in registers and scratch at the end becomes visible.
  Stmt results() {
    std::vector<Stmt> list;
    for (int i = 0; i < kTile; ++i) {
      list.push_back(b_.put(y_, ramp(task_ * kShare + i * 4, 1, 4), b_.at(tile_, ramp(int_const(i * 4), 1, 4))));
      list.push_back(b_.put(y_, task_ * kShare + 16 + i, b_.at(single_, i)));
    }
    list.push_back(b_.loop(8, [&](Expr i) { return b_.put(y_, task_ * kShare + 24 + i, b_.at(scratch_, i * 3)); }));
    return block(std::move(list));
  }

  Stmt statements(int depth) {
    std::vector<Stmt> list;
    for (std::int64_t n = 1 + pick(3); n > 0; --n) list.push_back(statement(depth));
    return block(std::move(list));
  }

  Stmt statement(int depth) {
    switch (depth == 0 ? pick(4) : pick(8)) {
      case 0:
        return store_float();
      case 1:
        return b_.put(tile_, ramp(int_const(pick(kTile) * 4), 1, 4), clamp(floats(4, 3)),
                      chance(0.3) ? booleans(4, 1) : Expr());
      case 2:
        return b_.put(single_, pick(kTile), clamp(floats(1, 3)));
      case 3:
        return b_.put(z_, task_ * kShare + floormod(integer(1), kShare), integers(1, DType::i32, 3));
      case 4:
        return Builder::when(booleans(1, 2), statements(depth - 1), chance(0.5) ? statements(depth - 1) : Stmt());
      case 5:
        return let(depth);
      default:
        return loop(depth);
    }
  }

  Stmt loop(int depth) {
    const bool constant = chance(0.6);
    Expr min = chance(0.5) ? int_const(pick(3)) : floormod(integer(1), 3);
    Expr extent = constant ? int_const(1 + pick(3)) : floormod(integer(1), 4) - 1;
    return b_.loop(min, extent, [&](Expr i) {
      indices_.push_back(i);
      Stmt body = statements(depth - 1);
      indices_.pop_back();
      return body;
    });
  }

  Stmt let(int depth) {
    const bool vector = chance(0.5);
    if (chance(0.5)) {
      return b_.let(integer(2), [&](Expr v) {
        indices_.push_back(v);
        Stmt body = statements(depth - 1);
        indices_.pop_back();
        return body;
      });
    }
    return b_.let(clamp(floats(vector ? 4 : 1, 2)), [&](Expr v) {
      lets_.push_back(v);
      Stmt body = statements(depth - 1);
      lets_.pop_back();
      return body;
    });
  }

  Stmt store_float() {
    const int lanes = chance(0.5) ? 1 : chance(0.5) ? 4 : 8;
    const bool to_scratch = chance(0.5);
    const std::int64_t size = to_scratch ? kSize : kShare;
    Expr at = vector_index(lanes, size);
    if (!to_scratch) at = at + broadcast(task_ * kShare, lanes);
    return b_.put(to_scratch ? scratch_ : y_, at, clamp(floats(lanes, 3)), chance(0.3) ? booleans(lanes, 1) : Expr());
  }

  /// Any integers of 0 .. size-1, one a lane.
  Expr vector_index(int lanes, std::int64_t size) {
    if (lanes == 1) return floormod(integer(2), size);
    static constexpr std::int64_t kStrides[] = {1, 1, 1, 2, 3, -1};
    const std::int64_t stride = kStrides[pick(6)], reach = (lanes - 1) * stride;
    const Expr base = floormod(integer(1), size - std::abs(reach)) + std::max<std::int64_t>(0, -reach);
    if (chance(0.8)) return ramp(base, stride, lanes);
    return floormod(ramp(base, 5, lanes), size);
  }

  /// A scalar i64.
  Expr integer(int depth) {
    if (depth == 0 || chance(0.2))
      return chance(0.3) ? int_const(rng_.between(-3, 40)) : indices_[pick(indices_.size())];
    switch (pick(9)) {
      case 0:
      case 1:
        return integer(depth - 1) + integer(depth - 1);
      case 2:
        return integer(depth - 1) - integer(depth - 1);
      case 3:
        return integer(depth - 1) * rng_.between(-4, 9);
      case 4:
        return floordiv(integer(depth - 1), chance(0.5) ? 4 : 3);
      case 5:
        return floormod(integer(depth - 1), chance(0.5) ? 8 : 7);
      case 6:
        return min(integer(depth - 1), integer(depth - 1));
      case 7:
        return select(booleans(1, depth - 1), integer(depth - 1), integer(depth - 1));
      default:
        return cast(DType::i64, b_.at(ints_, floormod(integer(depth - 1), kSize)));
    }
  }

  Expr integers(int lanes, DType dtype, int depth) {
    const BufferId source = dtype == DType::i32 ? ints_ : bytes_;
    if (depth == 0 || chance(0.2)) {
      if (chance(0.2)) return broadcast(int_const(rng_.between(1, 9), dtype), lanes);
      return b_.at(source, vector_index(lanes, kSize));
    }
    auto sub = [&] { return integers(lanes, dtype, depth - 1); };
    switch (pick(9)) {
      case 0:
        return sub() + sub();
      case 1:
        return sub() - sub();
      case 2:
        return sub() * sub();
      case 3:
        return min(sub(), sub());
      case 4:
        return max(sub(), sub());
      case 5:
        return floordiv(sub(), broadcast(int_const(chance(0.5) ? 16 : 5, dtype), lanes));
      case 6:
        return floormod(sub(), broadcast(int_const(chance(0.5) ? 8 : 11, dtype), lanes));
      case 7:
        return cast(dtype, integers(lanes, dtype == DType::i32 ? DType::u8 : DType::i32, depth - 1));
      default:
        return select(booleans(chance(0.5) ? lanes : 1, depth - 1), sub(), sub());
    }
  }

  Expr booleans(int lanes, int depth) {
    if (depth == 0 || chance(0.1)) return b_.at(flags_, vector_index(lanes, kSize));
    static constexpr BinaryOp kComparisons[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::gt,
                                                BinaryOp::ge, BinaryOp::eq, BinaryOp::ne};
    const BinaryOp op = kComparisons[pick(6)];
    switch (pick(6)) {
      case 0:
        return booleans(lanes, depth - 1) && booleans(lanes, depth - 1);
      case 1:
        return booleans(lanes, depth - 1) || booleans(lanes, depth - 1);
      case 2:
        return unary(UnaryOp::logical_not, booleans(lanes, depth - 1));
      case 3:
        return binary(op, floats(lanes, depth - 1), floats(lanes, depth - 1));
      case 4:
        return binary(op, integers(lanes, DType::u8, depth - 1), integers(lanes, DType::u8, depth - 1));
      default:
        return binary(op, ramp(integer(depth - 1), rng_.between(-2, 2), lanes), broadcast(integer(depth - 1), lanes));
    }
  }

  Expr leaf(int lanes) {
    switch (pick(7)) {
      case 0:
        return f32(static_cast<double>(rng_.between(-3, 3)), lanes);
      case 1:
        return cast(DType::f32, b_.at(halves_, vector_index(lanes, kSize)));
      case 2:
        return b_.at(scratch_, vector_index(lanes, kSize));
      case 3:
        if (lanes == 4) return b_.at(tile_, ramp(int_const(pick(kTile) * 4), 1, 4));
        return broadcast(b_.at(single_, pick(kTile)), lanes);
      case 4:
        for (const Expr& v : lets_)
          if (v->lanes == lanes) return v;
        return broadcast(b_.at(floats_, vector_index(1, kSize)), lanes);
      case 5: {
        Expr mask = booleans(lanes, 1);
        return b_.masked(floats_, vector_index(lanes, kSize), mask);
      }
      default:
        return b_.at(floats_, vector_index(lanes, kSize));
    }
  }

  Expr floats(int lanes, int depth) {
    if (depth == 0 || chance(0.15)) return leaf(lanes);
    auto sub = [&] { return floats(lanes, depth - 1); };
    switch (pick(10)) {
      case 0:
      case 1:
        return sub() + sub();
      case 2:
        return sub() - sub();
      case 3:
        return sub() * leaf(lanes);
      case 4:
        return min(sub(), sub());
      case 5:
        return max(sub(), sub());
      case 6:
        return chance(0.5) ? -sub() : call(MathFn::abs, {sub()});
      case 7:
        return cast(DType::f32, integers(lanes, DType::u8, depth - 1));
      case 8:  // the far side is out of bounds
        return select(ramp(int_const(0), 1, lanes) < broadcast(int_const(lanes), lanes), sub(),
                      b_.at(floats_, ramp(int_const(1) * (std::int64_t{1} << 40), 1, lanes)));
      default:
        return select(booleans(chance(0.5) ? lanes : 1, depth - 1), sub(), sub());
    }
  }

  static Expr clamp(const Expr& e) { return min(max(e, f32(-9, e->lanes)), f32(9, e->lanes)); }

  Rng rng_;
  Builder b_;
  BufferId floats_, halves_, ints_, bytes_, flags_, y_, z_, scratch_, tile_, single_;
  Expr task_;
  std::vector<Expr> indices_, lets_;
};

void check(std::uint64_t seed) {
  RandomProgram random(seed);
  const std::vector<Tensor> inputs = random.arguments();
  std::vector<Tensor> wanted;
  for (const Tensor& t : inputs) wanted.push_back(t.clone());
  const int workers = 1 + static_cast<int>(seed % 3);
  const Status status = interpret(random.program(), wanted, {.workers = workers});
  ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message;
  for (const Target& target : runnable_targets()) {
    const Result<std::vector<Tensor>> got = run_native(random.program(), target, inputs, workers);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.error().message;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      for (std::int64_t i = 0; i < wanted[k].size(); ++i)
        ASSERT_EQ(got.value()[k].get(i), wanted[k].get(i))
            << "seed " << seed << ", argument " << k << ", element " << i << ", " << target.cpu().mcpu << "\n"
            << to_text(random.program());
  }
}

TEST(EveryProgram, DoesNativelyWhatTheInterpreterDoes) {
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + 16 && !HasFatalFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace whet
