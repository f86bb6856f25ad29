#include "schedule/tensorize.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/round.h"
#include "schedule/check.h"
#include "schedule/online.h"
#include "schedule/regions.h"

namespace whet {
namespace {

/// The tile's loops as the intrinsic's axes: the digit of each, by the axes, or why they are others.
Result<std::vector<DigitId>> tile_digits(const LoopTree& tree, const Tensorize& step) {
  const Element& wanted = op_of(step.intrinsic).element();
  const std::vector<AxisId> order = loop_order(step.intrinsic);
  std::vector<DigitId> digits(order.size());
  LoopId at = step.loop;
  for (const AxisId id : order) {
    const TreeLoop& loop = tree.loop(at);
    const Axis& axis = axis_of(wanted, id);
    const auto other = [&](std::string_view why) {
      return refuse(tree, at,
                    fmt::format("{}; {} wants a loop in {}{} over {}", why, name_of(step.intrinsic),
                                takes_extent(step.intrinsic, id, 1) ? "up to " : "", axis.extent, axis.name));
    };
    if (loop.kind != LoopKind::serial) return other("is annotated");
    WHET_RETURN_IF_ERROR(check_fixed(tree, at));
    if (loop.op != tree.loop(step.loop).op || loop.children.size() != 1) return other("holds more than this tile");
    if (loop.digits.size() != 1 || !takes_extent(step.intrinsic, id, extent_of(tree, at)))
      return other(fmt::format("has {} iterations", extent_of(tree, at)));
    if (is_reduce(tree, at) != (id.index() >= wanted.axes.size())) return other("runs along another kind of axis");
    if (is_frozen(tree, at)) return other("is frozen, because something is computed or kept under it");
    digits[id.index()] = loop.digits.front();
    const Item& child = loop.children.front();
    if (child.leaf.valid() != (id == order.back())) return other("has more or fewer loops inside");
    at = child.loop;
  }
  return digits;
}

/// No iteration of the tile may be beyond an extent: what is split with a guarded tail around the digit.
Status check_whole(const LoopTree& tree, OpId op, const std::vector<DigitId>& digits) {
  for (const Digit& digit : tree.digits) {
    if (digit.op != op || digit.leaf() || digit.divides() || digit.tail != Tail::guard) continue;
    for (DigitId part : {digit.outer, digit.inner})
      for (DigitId leaf : leaves_of(tree, part))
        if (std::find(digits.begin(), digits.end(), leaf) != digits.end())
          return refuse(tree, loop_of(tree, leaf), "has a guarded tail, and a tile is computed whole; use overlap");
  }
  return ok_status();
}

/// How often an index moves with each digit of the tile; an error where it does not move evenly.
Result<std::vector<std::int64_t>> steps_of(const LoopTree& tree, OpId op, const Expr& index,
                                           const std::vector<DigitId>& digits) {
  std::vector<std::int64_t> steps(digits.size(), 0);
  const Expr over =
      simplify(substitute(index, [&](VarId v) { return v.valid() ? axis_value(tree, op, AxisId(v.value)) : Expr(); }),
               [&](VarId v) { return digit_range(tree, v); });
  for (const auto& [atom, factor] : to_affine(over).terms)
    for (std::size_t q = 0; q < digits.size(); ++q) {
      const VarId id(digits[q].value);
      const Var* v = std::get_if<Var>(&atom->kind);
      if (v && v->id == id)
        steps[q] = factor;
      else if (uses(atom, id))
        return refuse(tree, op, "does not step evenly through what it reads");
    }
  return steps;
}

/// A tensor read or written at `index` as the definition does at `wanted`: nothing but the axes that it names moves,
/// and along the last of them lie neighbours.
Status check_operand(const LoopTree& tree, OpId op, const std::vector<Expr>& index, const std::vector<Expr>& wanted,
                     const std::vector<DigitId>& digits, const std::string& what) {
  const auto named = [&](std::size_t q) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const Expr& e) { return uses(e, VarId(static_cast<std::int64_t>(q))); });
  };
  for (std::size_t m = 0; m < index.size(); ++m) {
    WHET_TRY(const std::vector<std::int64_t> steps, steps_of(tree, op, index[m], digits));
    for (std::size_t q = 0; q < digits.size(); ++q) {
      if (steps[q] != 0 && !named(q))
        return refuse(tree, op, fmt::format("moves through {} along an axis that it should not", what));
      const bool densest = !wanted.empty() && uses(wanted.back(), VarId(static_cast<std::int64_t>(q)));
      if (densest && steps[q] != (m + 1 == index.size() ? 1 : 0))
        return refuse(tree, op, fmt::format("finds no neighbours in {} along its last axis", what));
    }
  }
  return ok_status();
}

/// Sums begin before the tile adds to them: at a reduce loop or a register cache around it.
bool begins_outside(const LoopTree& tree, OpId op, LoopId tile) {
  for (LoopId at = tree.loop(tile).parent; at.valid(); at = tree.loop(at).parent)
    if (is_cached_at(tree, at) || (tree.loop(at).op == op && is_reduce(tree, at))) return true;
  return false;
}

bool is_packed(const LoopTree& tree, OpId tensor, OpId reader) {
  return std::any_of(tree.packs.begin(), tree.packs.end(),
                     [&](const PackedRead& p) { return p.tensor == tensor && p.reader == reader; });
}

/// The threads of a warp hold the sums of their tiles in registers, from one end of the reduction to the other, and read
/// both operands from block memory.
Status check_warp_wide(const LoopTree& tree, const Tensorize& step, const std::vector<Expr>& loads) {
  const OpId op = tree.loop(step.loop).op;
  const std::vector<LoopId> around = path_to(tree, step.loop);
  const auto warps =
      std::find_if(around.rbegin(), around.rend(), [&](LoopId at) { return tree.loop(at).kind == LoopKind::warp; });
  const auto name = name_of(step.intrinsic);
  if (warps == around.rend())
    return refuse(tree, step.loop, fmt::format("is under no loop of warps, which {} is computed by", name));
  const Placement& place = tree.place(op);
  // Of a step of an online sum's terms: other sums of the same warps are around it.
  const auto outermost = place.kind == PlaceKind::at && online_at(tree, place.at)
                             ? std::find(around.rbegin(), around.rend(), place.at)
                             : warps;
  for (auto at = around.rbegin(); at != outermost; ++at)
    if (!runs_in_order(tree, *at) || tree.loop(*at).op != op)
      return refuse(tree, *at,
                    fmt::format("is between the warps and a tile of {}; only plain loops of {} may be", name,
                                tree.dag.op(op).name));
  const bool held = place.stored_in == StoredIn::registers && place.at == *outermost;
  const bool cached = std::any_of(tree.caches.begin(), tree.caches.end(),
                                  [&](const RegisterCache& cache) { return cache.op == op && cache.loop == *warps; });
  if (!held && !cached)
    return refuse(tree, op,
                  fmt::format("does not keep its sums in registers at the warps of loop {}; cache_write it there",
                              name_of(tree, *warps)));
  for (const Expr& read : loads) {
    const OpId tensor(std::get<Load>(read->kind).source.value);
    if (tree.place(tensor).kind != PlaceKind::root)
      return refuse(tree, tensor,
                    fmt::format("is an operand of {}, which reads block memory; unfold or cache_read it, and place "
                                "it there after the tile",
                                name));
  }
  return ok_status();
}

/// `body` without the tests for padding in it: lowering puts these around the tile, or the loops run as they are.
Expr without_padding(const Expr& body) {
  return rewrite(body, [](const Expr& part) -> Expr {
    const auto* s = std::get_if<Select>(&part->kind);
    return s && is_const(s->if_false, 0) && std::holds_alternative<Load>(s->if_true->kind) ? s->if_true : Expr();
  });
}

/// Whether rows of the operand may lie along either of its axes: warps read fragments of both.
bool has_either_order(Intrinsic intrinsic, const Load& operand) {
  return is_warp_wide(intrinsic) && !multiplies_bytes(intrinsic) && operand.source.index() == 1;
}

/// The op multiplies what its loads give, rounded where it is not yet: elements of f16 are.
void round_operands(ComputeDag& dag, OpId op, MathFn rounding) {
  Element& element = dag.op(op).element();
  element.body = rewrite(element.body, [&](const Expr& part) -> Expr {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || part->dtype == DType::f16 || is_rounded(dag, OpId(read->source.value), rounding)) return {};
    return call(rounding, {part});
  });
}

}  // namespace

Status apply(LoopTree& tree, const Tensorize& step) {
  WHET_RETURN_IF_ERROR(check_holds_ops(tree, step.loop));
  const OpId op = tree.loop(step.loop).op;
  const Element& element = tree.dag.op(op).element();
  const ComputeDag& definition = definition_of(step.intrinsic);
  const Element& wanted = op_of(step.intrinsic).element();
  WHET_TRY(const std::vector<DigitId> digits, tile_digits(tree, step));
  if (!is_warp_wide(step.intrinsic)) WHET_RETURN_IF_ERROR(check_whole(tree, op, digits));
  const std::vector<Expr> loads =
      matching_loads(wanted.body, is_warp_wide(step.intrinsic) ? element.body : without_padding(element.body),
                     definition.ops.size() - 1);
  if (element.reducer != wanted.reducer || tree.dag.op(op).dtype != op_of(step.intrinsic).dtype || loads.empty())
    return refuse(tree, op, fmt::format("computes something else than {}", name_of(step.intrinsic)));
  for (const Rfactored& factored : tree.rfactors)
    if (factored.op == op) return refuse(tree, op, "is factored, and the intrinsic adds to its sums");

  if (is_warp_wide(step.intrinsic)) WHET_RETURN_IF_ERROR(check_warp_wide(tree, step, loads));
  if (element.reducer && !begins_outside(tree, op, step.loop))
    return refuse(tree, step.loop, "holds the whole reduction, and the intrinsic adds to its sums; split it outside");

  std::vector<Expr> own, own_wanted;
  for (std::size_t k = 0; k < element.axes.size(); ++k) own.push_back(axis_var(element, static_cast<std::int64_t>(k)));
  for (std::size_t k = 0; k < wanted.axes.size(); ++k)
    own_wanted.push_back(axis_var(wanted, static_cast<std::int64_t>(k)));
  WHET_RETURN_IF_ERROR(check_operand(tree, op, own, own_wanted, digits, "its result"));
  Status fits = ok_status();
  for_each(wanted.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || !fits.ok()) return;
    const Load& found = std::get<Load>(loads[read->source.index()]->kind);
    const OpId tensor(found.source.value);
    if (is_packed(tree, tensor, op)) return;
    const std::string& name = tree.dag.op(tensor).name;
    fits = check_operand(tree, op, found.index, read->index, digits, name);
    if (!fits.ok() && has_either_order(step.intrinsic, *read))
      fits = check_operand(tree, op, found.index, {read->index[1], read->index[0]}, digits, name);
  });
  WHET_RETURN_IF_ERROR(fits);
  tree.tiles.push_back({step.loop, step.intrinsic});
  if (const auto rounding = rounding_of(step.intrinsic)) round_operands(tree.dag, op, *rounding);
  return ok_status();
}

}  // namespace whet
