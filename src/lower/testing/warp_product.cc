#include "lower/testing/warp_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/swizzle.h"
#include "schedule/swizzle_storage.h"

namespace whet::testing {
namespace {

/// Products of bytes: rows of the right operand lie along the depth, and there is no epilogue.
bool is_of_bytes(const WarpProduct& p) { return multiplies_bytes(p.intrinsic); }
bool is_of_halves(const WarpProduct& p) {
  return p.intrinsic == Intrinsic::mma_half || p.intrinsic == Intrinsic::mma_half_bf16;
}
bool is_along_depth(const WarpProduct& p) { return p.right_along_depth || is_of_bytes(p); }

class Builder {
 public:
  Builder(const ComputeDag& dag, const WarpProduct& p) : s_(dag), p_(p) {}

  Steps run() {
    const bool epilogue = p_.epilogue && !is_of_bytes(p_);
    const OpId first(epilogue ? 3 : 2);
    const OpId left = s_.cache_read(OpId(0), first);
    const OpId right = s_.cache_read(OpId(1), OpId(first.value + 1));
    if (p_.rounds_left) s_.round(left, precision_of(p_.intrinsic));
    if (p_.rounds_right) s_.round(right, precision_of(p_.intrinsic));
    const OpId sum(first.value + 2), out(first.value + 3);
    std::vector<LoopId> loops;
    if (epilogue) {
      const LoopId warps = spatial(out, {});
      loops = s_.compute_at(sum, warps, StoredIn::registers);
      tile(loops, {});
    } else {
      loops = s_.loops(sum);
      spatial(sum, {loops[2]});
    }
    copy(left, true), copy(right, false);
    if (p_.pad > 0) s_.pad_storage(left, p_.pad);
    if (p_.swizzled) swizzle(left), swizzle(right);
    if (p_.stages > 1) s_.pipeline(depth_, p_.stages);
    const Result<Steps> steps = s_.finish();
    WHET_CHECK(steps.ok(), steps.ok() ? "" : steps.error().message.c_str());
    return *steps;
  }

 private:
  /// Blocks, warps and, of sums alone, their tiles. Gives the inner loop of warps.
  LoopId spatial(OpId op, const std::vector<LoopId>& reduce) {
    const std::vector<LoopId> loops = s_.loops(op);
    const auto rows = s_.split(loops[0], p_.rows, Tail::guard), columns = s_.split(loops[1], p_.columns, Tail::guard);
    const auto warp_rows = s_.split(rows.inner, p_.warp_rows, Tail::guard),
               warp_columns = s_.split(columns.inner, p_.warp_columns, Tail::guard);
    s_.reorder({rows.outer, columns.outer, warp_rows.outer, warp_columns.outer, warp_rows.inner, warp_columns.inner});
    s_.bind(rows.outer, LoopKind::block), s_.bind(columns.outer, LoopKind::block);
    s_.bind(warp_rows.outer, LoopKind::warp), s_.bind(warp_columns.outer, LoopKind::warp);
    if (!reduce.empty())
      tile({warp_rows.inner, warp_columns.inner, reduce.front()}, warp_columns.outer);
    else
      s_.annotate(warp_rows.inner, LoopKind::unrolled), s_.annotate(warp_columns.inner, LoopKind::vectorized);
    return warp_columns.outer;
  }

  void tile(const std::vector<LoopId>& loops, LoopId cache) {
    const std::int64_t step = op_of(p_.intrinsic).element().reduce_axes.front().extent;
    const auto rows = s_.split(loops[0], 16, Tail::guard), columns = s_.split(loops[1], 8, Tail::guard);
    const auto depth = s_.split(loops[2], p_.depth, Tail::guard);
    const auto part = s_.split(depth.inner, step, Tail::guard);
    s_.reorder({depth.outer, part.outer, rows.outer, columns.outer, rows.inner, columns.inner, part.inner});
    if (cache.valid()) s_.cache_write(s_.tree().loop(cache).op, cache);
    for (LoopId loop : {part.outer, rows.outer, columns.outer}) s_.annotate(loop, LoopKind::unrolled);
    s_.tensorize(rows.inner, p_.intrinsic);
    depth_ = depth.outer;
  }

  void swizzle(OpId op) {
    const std::int64_t row = row_bytes(s_.tree(), op);
    if (const std::int64_t piece = std::min<std::int64_t>(row, 128); is_swizzle(piece, row)) s_.swizzle(op, piece);
  }

  /// By four elements a thread, along rows of memory.
  void copy(OpId op, bool left) {
    const std::vector<LoopId> loops = s_.compute_at(op, depth_, StoredIn::block);
    const std::int64_t threads = p_.rows / p_.warp_rows * (p_.columns / p_.warp_columns) * 32;
    const bool along_depth = left || is_along_depth(p_);
    const std::int64_t across = (along_depth ? p_.depth : p_.columns) / 4;
    const auto vector = s_.split(loops[1], 4, Tail::guard);
    const std::int64_t rows = std::clamp<std::int64_t>(threads / across, 1,
                                                       left          ? p_.rows
                                                       : along_depth ? p_.columns
                                                                     : p_.depth);
    const auto down = s_.split(loops[0], rows, Tail::guard);
    s_.reorder({down.outer, down.inner, vector.outer, vector.inner});
    s_.bind(down.inner, LoopKind::thread), s_.bind(vector.outer, LoopKind::thread);
    s_.annotate(vector.inner, LoopKind::vectorized);
  }

  Scheduler s_;
  const WarpProduct p_;
  LoopId depth_;
};

}  // namespace

ComputeDag product_dag(const WarpProduct& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (is_of_bytes(p))
    return parse_dag(
               fmt::format("a = PLACEHOLDER [{0}, {2}] {3}\nb = PLACEHOLDER [{1}, {2}] i8\n"
                           "c(i, j): i32 += (i32(a[i, r])*i32(b[j, r])) for i in {0}, j in {1}, r in {2}\nreturn c\n",
                           m, n, k, p.intrinsic == Intrinsic::mma_u8 ? "u8" : "i8"))
        .value();
  const std::string_view of = !is_of_halves(p) ? "" : p.intrinsic == Intrinsic::mma_half ? " f16" : " bf16";
  const bool along = is_along_depth(p);
  std::string text = fmt::format("a = PLACEHOLDER [{0}, {1}]{4}\nb = PLACEHOLDER [{2}, {3}]{4}\n", m, k, along ? n : k,
                                 along ? k : n, of);
  if (p.epilogue) text += fmt::format("bias = PLACEHOLDER [{}] const\n", n);
  const std::string_view right = along ? "b[j, r]" : "b[r, j]";
  const std::string product =
      is_of_halves(p) ? fmt::format("f32(a[i, r])*f32({})", right) : fmt::format("a[i, r]*{}", right);
  text += fmt::format("c(i, j) += ({}) for i in {}, j in {}, r in {}\n", product, m, n, k);
  if (p.epilogue) text += fmt::format("out(i, j) = max((c[i, j] + bias[j]), 0f) for i in {}, j in {}\n", m, n);
  return parse_dag(text + (p.epilogue ? "return out\n" : "return c\n")).value();
}

RandomWarpProduct random_warp_product(Rng& rng) {
  constexpr Intrinsic kIntrinsics[] = {Intrinsic::mma_tf32,     Intrinsic::mma_f16, Intrinsic::mma_bf16,
                                       Intrinsic::mma_s8,       Intrinsic::mma_u8,  Intrinsic::mma_half,
                                       Intrinsic::mma_half_bf16};
  WarpProduct p{.intrinsic = kIntrinsics[rng.below(7)], .epilogue = rng.chance(0.5)};
  p.warp_rows = 16 * rng.between(1, 2), p.rows = p.warp_rows * rng.between(1, 2);
  p.warp_columns = 8 * rng.between(1, 3), p.columns = p.warp_columns * rng.between(1, 2);
  p.stages = rng.between(1, 4);
  const bool rounds = p.intrinsic == Intrinsic::mma_tf32 || p.intrinsic == Intrinsic::mma_f16;
  p.rounds_left = rounds && rng.chance(0.5), p.rounds_right = rounds && rng.chance(0.5);
  p.right_along_depth = rng.chance(0.4);
  p.depth = (is_of_bytes(p) ? 32 : 16) * rng.between(1, 2);
  p.pad = (is_of_bytes(p)                     ? 16
           : p.rounds_left || is_of_halves(p) ? 8
                                              : 4) *
          rng.between(0, 2);  // rows of whole 16 bytes
  p.swizzled = p.pad == 0;
  const auto axis = [&](std::int64_t tile) {
    return rng.chance(0.3) ? tile * rng.between(1, 2) : tile + rng.below(40);
  };
  ComputeDag dag = product_dag(p, axis(p.rows), axis(p.columns), axis(p.depth));
  Steps steps = product_steps(dag, p);
  return {p, std::move(dag), std::move(steps)};
}

Steps product_steps(const ComputeDag& dag, const WarpProduct& product) { return Builder(dag, product).run(); }

}  // namespace whet::testing
