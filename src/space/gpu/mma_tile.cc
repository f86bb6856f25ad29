#include "space/gpu/mma_tile.h"

#include <algorithm>
#include <numeric>

#include "compute/round.h"
#include "space/gpu/levels.h"

namespace whet {
namespace {

class MmaBuilder {
 public:
  MmaBuilder(Scheduler& s, const ProductForm& p, const MmaTile& tile) : s_(s), p_(p), tile_(tile) {}

  void run() {
    s_ = p_.start(tile_.parts);
    const LoopId depth = tile_.parts > 1 || !p_.output ? sums_alone() : epilogue();
    copy(p_.left, depth, left_copy(p_, tile_), p_.has_lead);
    copy(p_.right, depth, right_copy(p_, tile_), p_.right_along_depth ? p_.batched : p_.has_outer);
    if (tile_.left_pad > 0) s_.pad_storage(p_.left, tile_.left_pad);
    if (tile_.right_pad > 0) s_.pad_storage(p_.right, tile_.right_pad);
    if (tile_.swizzled) swizzle(p_.left, left_row_bytes(p_, tile_)), swizzle(p_.right, right_row_bytes(p_, tile_));
    if (tile_.stages > 1) s_.pipeline(depth, tile_.stages);
    if (tile_.parts > 1) add_parts(s_, p_);
    pack_weights(s_, p_);
  }

 private:
  struct Levels {
    LoopId block, warp, inside;
  };
  Levels cut(LoopId loop, std::int64_t whole, std::int64_t of_warp) {
    const auto tile = s_.split(loop, whole, Tail::guard);
    const auto warps = s_.split(tile.inner, of_warp, Tail::guard);
    return {tile.outer, warps.outer, warps.inner};
  }

  /// The result's loops: blocks, warps, `between`, and what a warp has of rows and columns, which it gives.
  std::pair<Levels, Levels> nest(OpId op, const std::vector<LoopId>& between) {
    std::vector<LoopId> loops = s_.loops(op);
    std::vector<LoopId> leads(loops.begin(), loops.end() - std::ssize(reduce_loops(s_, op)) - 2);
    const Levels rows = cut(loops[leads.size()], tile_.rows(), tile_.warp_rows),
                 columns = cut(loops[leads.size() + 1], tile_.columns(), tile_.warp_columns);
    const std::vector<LoopId> blocks = order_of_blocks(s_, rows.block, columns.block, tile_.raster);
    std::vector<LoopId> order = leads;
    order.insert(order.end(), blocks.begin(), blocks.end());
    order.push_back(rows.warp), order.push_back(columns.warp);
    order.insert(order.end(), between.begin(), between.end());
    order.push_back(rows.inside), order.push_back(columns.inside);
    s_.reorder(order);
    bind_blocks(s_, std::move(leads), blocks, tile_.min_blocks);
    s_.bind(rows.warp, LoopKind::warp), s_.bind(columns.warp, LoopKind::warp);
    return {rows, columns};
  }

  /// Sums in registers of the warps that compute the epilogue. Gives the loop over the depth, a part a step.
  LoopId epilogue() {
    const auto [rows, columns] = nest(*p_.output, {});
    s_.annotate(rows.inside, LoopKind::unrolled);
    s_.annotate(columns.inside, LoopKind::vectorized);
    return tiles(s_.compute_at(p_.sum, columns.warp, StoredIn::registers));
  }

  LoopId sums_alone() {
    std::vector<LoopId> reduce = reduce_loops(s_, p_.sum);
    const auto [rows, columns] = nest(p_.sum, reduce);
    reduce.insert(reduce.begin(), columns.inside), reduce.insert(reduce.begin(), rows.inside);
    return tiles(std::move(reduce), columns.warp);
  }

  LoopId tiles(std::vector<LoopId> loops, LoopId cache = LoopId()) {
    return sum_by_warps(s_, {p_.sum, tile_.intrinsic, tile_.depth, p_.has_outer}, std::move(loops), cache);
  }

  void swizzle(OpId op, std::int64_t row) { s_.swizzle(op, std::min<std::int64_t>(row, 128)); }

  void copy(OpId op, LoopId at, const TileCopy& copy, bool led) {
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    copy_tile(s_, loops[led ? 1 : 0], loops.back(), copy);
  }

  Scheduler& s_;
  const ProductForm& p_;
  const MmaTile tile_;
};

}  // namespace

std::optional<Intrinsic> mma_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return Intrinsic::mma_tf32;
    case Precision::f16:
      return Intrinsic::mma_f16;
    case Precision::bf16:
      return Intrinsic::mma_bf16;
    default:
      return std::nullopt;
  }
}

std::optional<Intrinsic> mma_of_halves(const ComputeDag& dag) {
  if (multiplies_halves(dag)) return Intrinsic::mma_half;
  if (multiplies_halves(dag, DType::bf16)) return Intrinsic::mma_half_bf16;
  return std::nullopt;
}

LoopId sum_by_warps(Scheduler& s, const WarpSum& sum, std::vector<LoopId> loops, LoopId cache) {
  const std::int64_t step = step_of(sum.intrinsic);
  const auto depth = s.split(loops.back(), sum.depth, Tail::guard);
  const auto part = s.split(depth.inner, step, Tail::guard);
  loops.pop_back();
  std::vector<LoopId> order{depth.outer, part.outer};
  if (sum.has_outer) order.insert(order.begin(), loops.back()), loops.pop_back();
  const auto columns = s.split(loops.back(), kMmaColumns, Tail::guard);
  loops.pop_back();
  const auto rows = s.split(loops.back(), kMmaRows, Tail::guard);
  loops.pop_back();
  order.insert(order.end(), loops.begin(), loops.end());
  for (LoopId loop : {rows.outer, columns.outer, rows.inner, columns.inner, part.inner}) order.push_back(loop);
  s.reorder(order);
  if (cache.valid()) s.cache_write(sum.op, cache);
  for (LoopId loop : {part.outer, rows.outer, columns.outer}) s.annotate(loop, LoopKind::unrolled);
  s.tensorize(rows.inner, sum.intrinsic);
  return depth.outer;
}

std::int64_t left_row_bytes(const ProductForm& form, const MmaTile& tile) { return tile.depth * form.left_bytes; }
std::int64_t right_row_bytes(const ProductForm& form, const MmaTile& tile) {
  return (form.right_along_depth ? tile.depth : tile.columns()) * form.right_bytes;
}

std::int64_t bytes_of(const ProductForm& form, const MmaTile& tile) {
  const std::int64_t left = tile.rows() * (tile.depth + tile.left_pad);
  const std::int64_t right = form.right_along_depth ? tile.columns() * (tile.depth + tile.right_pad)
                                                    : tile.depth * (tile.columns() + tile.right_pad);
  return tile.stages * (left * form.left_bytes + right * form.right_bytes);
}

TileCopy left_copy(const ProductForm& form, const MmaTile& tile) {
  return tile_copy(tile.rows(), tile.depth, std::gcd(form.depth, form.left_run), tile.threads());
}
TileCopy right_copy(const ProductForm& form, const MmaTile& tile) {
  if (form.right_along_depth)
    return tile_copy(tile.columns(), tile.depth, std::gcd(form.depth, form.right_run), tile.threads());
  return tile_copy(tile.depth, tile.columns(), std::gcd(form.columns, form.right_run), tile.threads());
}

void build_mma(Scheduler& s, const ProductForm& form, const MmaTile& tile) { MmaBuilder(s, form, tile).run(); }

}  // namespace whet
