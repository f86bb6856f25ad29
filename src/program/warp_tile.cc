#include "program/warp_tile.h"

#include <algorithm>

namespace whet {
namespace {

constexpr std::int64_t kOfLane = 2;  ///< rows of a lane, and columns

const Loop* serial_loop(const Stmt& s, std::int64_t extent) {
  const Loop* loop = s.defined() ? std::get_if<Loop>(&s->kind) : nullptr;
  const bool fits = loop && loop->kind == LoopKind::serial && is_const(loop->min, 0) && is_const(loop->extent, extent);
  return fits ? loop : nullptr;
}

/// Operands that are rounded as the intrinsic does it; 2 where it does not round.
int roundings(const Expr& product, Intrinsic intrinsic) {
  const std::optional<MathFn> rounding = rounding_of(intrinsic);
  if (!rounding) return 2;
  int count = 0;
  for_each(product, [&](const Expr& e) {
    const Call* call = std::get_if<Call>(&e->kind);
    count += call && call->fn == *rounding;
  });
  return count;
}

}  // namespace

std::optional<WarpTile> warp_tile(const Loop& loop) {
  if (!is_warp_wide(loop.intrinsic)) return std::nullopt;
  const Element& wanted = op_of(loop.intrinsic).element();
  WarpTile tile{.intrinsic = loop.intrinsic};
  if (loop.kind != LoopKind::serial || !is_const(loop.min, 0) || !is_const(loop.extent, kOfLane)) return std::nullopt;
  tile.rows = &loop;
  tile.columns = serial_loop(loop.body, kOfLane);
  tile.depth = tile.columns ? serial_loop(tile.columns->body, wanted.reduce_axes.front().extent) : nullptr;
  tile.store = tile.depth && tile.depth->body.defined() ? std::get_if<Store>(&tile.depth->body->kind) : nullptr;
  if (!tile.store || tile.store->mask.defined() || tile.store->async || tile.store->cross != 0) return std::nullopt;
  const Binary* sum = std::get_if<Binary>(&tile.store->value->kind);
  if (!sum || sum->op != BinaryOp::add) return std::nullopt;
  const auto adds_to = [&](const Expr& e) {
    const Load* load = std::get_if<Load>(&e->kind);
    if (!load || load->source.value != tile.store->buffer.value || load->mask.defined()) return false;
    for (std::size_t d = 0; d < load->index.size(); ++d)
      if (!same(load->index[d], tile.store->index[d])) return false;
    return true;
  };
  const bool first = adds_to(sum->a);
  if (!first && !adds_to(sum->b)) return std::nullopt;
  const std::vector<Expr> loads = matching_loads(wanted.body, first ? sum->b : sum->a, 2);
  if (loads.empty() || roundings(first ? sum->b : sum->a, tile.intrinsic) != 2) return std::nullopt;
  tile.left = &std::get<Load>(loads[0]->kind), tile.right = &std::get<Load>(loads[1]->kind);
  const VarId rows = tile.rows->index;
  const auto moves = [&](const Load& load, VarId v) {
    return std::any_of(load.index.begin(), load.index.end(), [&](const Expr& i) { return uses(i, v); });
  };
  if (!moves(*tile.left, rows)) std::swap(tile.left, tile.right);  // a product has no order
  const bool fits = moves(*tile.left, rows) && !moves(*tile.left, tile.columns->index) &&
                    moves(*tile.right, tile.columns->index) && !moves(*tile.right, rows);
  return fits ? std::optional(tile) : std::nullopt;
}

}  // namespace whet
