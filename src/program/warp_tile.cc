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

/// The e of y[i] = y[i] + e; undefined where the store does another thing.
Expr added_by(const Store* store) {
  if (!store || store->mask.defined() || store->async || store->cross != 0) return {};
  const Binary* sum = std::get_if<Binary>(&store->value->kind);
  if (!sum || sum->op != BinaryOp::add) return {};
  const auto adds_to = [&](const Expr& e) {
    const Load* load = std::get_if<Load>(&e->kind);
    if (!load || load->source.value != store->buffer.value || load->mask.defined()) return false;
    for (std::size_t d = 0; d < load->index.size(); ++d)
      if (!same(load->index[d], store->index[d])) return false;
    return true;
  };
  return adds_to(sum->a) ? sum->b : adds_to(sum->b) ? sum->a : Expr();
}

/// Loads without a rounding around them.
int bare_loads(const Expr& e, MathFn rounding) {
  const Call* call = std::get_if<Call>(&e->kind);
  if (call && call->fn == rounding) return 0;
  if (std::holds_alternative<Load>(e->kind)) return e->dtype == DType::f16 ? 0 : 1;
  if (const Cast* cast = std::get_if<Cast>(&e->kind)) return bare_loads(cast->a, rounding);
  const Binary* both = std::get_if<Binary>(&e->kind);
  return both ? bare_loads(both->a, rounding) + bare_loads(both->b, rounding) : 0;
}

/// Memory keeps elements that are rounded to f16 as such, those rounded to tf32 as f32.
bool is_rounded(const Expr& product, Intrinsic intrinsic) {
  const std::optional<MathFn> rounding = rounding_of(intrinsic);
  return !rounding || *rounding == MathFn::round_tf32 || bare_loads(product, *rounding) == 0;
}

bool rounds(const Expr& product, const Load& operand) {
  bool found = false;
  for_each(product, [&](const Expr& e) {
    const Call* call = std::get_if<Call>(&e->kind);
    found = found || (call && rounds_operands(call->fn) && std::get_if<Load>(&call->args[0]->kind) == &operand);
  });
  return found;
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
  const Expr product = added_by(tile.store);
  if (!product.defined()) return std::nullopt;
  const std::vector<Expr> loads = matching_loads(wanted.body, product, 2);
  if (loads.empty() || !is_rounded(product, tile.intrinsic)) return std::nullopt;
  tile.left = &std::get<Load>(loads[0]->kind), tile.right = &std::get<Load>(loads[1]->kind);
  const VarId rows = tile.rows->index;
  const auto moves = [&](const Load& load, VarId v) {
    return std::any_of(load.index.begin(), load.index.end(), [&](const Expr& i) { return uses(i, v); });
  };
  if (!moves(*tile.left, rows)) std::swap(tile.left, tile.right);  // a product has no order
  const bool fits = moves(*tile.left, rows) && !moves(*tile.left, tile.columns->index) &&
                    moves(*tile.right, tile.columns->index) && !moves(*tile.right, rows);
  tile.rounds_left = rounds(product, *tile.left), tile.rounds_right = rounds(product, *tile.right);
  return fits ? std::optional(tile) : std::nullopt;
}

std::vector<Expr> own_pairs(const WarpTile& t) {
  const std::int64_t terms = op_of(t.intrinsic).element().reduce_axes.front().extent;
  std::vector<Expr> pairs;
  for (std::int64_t first = 0; first < terms; first += 8)
    for (std::int64_t row = 0; row < kOfLane; ++row) {
      const std::pair<VarId, Expr> at[] = {{t.rows->index, int_const(row)}, {t.depth->index, int_const(first)}};
      pairs.push_back(ramp(substitute(t.left->index[0], at), 1, 2));
    }
  return pairs;
}

std::optional<ThreadDot> thread_dot(const Loop& loop) {
  if (!is_dp4a(loop.intrinsic)) return std::nullopt;
  const Element& wanted = op_of(loop.intrinsic).element();
  const bool fits = loop.kind == LoopKind::serial && is_const(loop.min, 0) &&
                    is_const(loop.extent, wanted.reduce_axes.front().extent) && loop.body.defined();
  ThreadDot dot{.depth = &loop, .store = fits ? std::get_if<Store>(&loop.body->kind) : nullptr};
  const Expr product = added_by(dot.store);
  if (!product.defined() ||
      std::any_of(dot.store->index.begin(), dot.store->index.end(), [&](const Expr& i) { return uses(i, loop.index); }))
    return std::nullopt;
  const std::vector<Expr> loads = matching_loads(wanted.body, product, 2);
  if (loads.empty()) return std::nullopt;
  dot.left = &std::get<Load>(loads[0]->kind), dot.right = &std::get<Load>(loads[1]->kind);
  return dot;
}

}  // namespace whet
