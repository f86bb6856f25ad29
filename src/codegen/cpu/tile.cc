#include "codegen/cpu/tile.h"

#include <algorithm>

namespace whet {
namespace {

/// A nest of the definition's loops around one store.
struct Nest {
  std::vector<VarId> vars;  ///< by the definition's axes, as the extents
  std::vector<std::int64_t> extents;
  const Store* store = nullptr;
};

std::optional<Nest> nest_of(const Loop& outermost) {
  const std::vector<AxisId> order = loop_order(outermost.intrinsic);
  Nest nest{std::vector<VarId>(order.size()), std::vector<std::int64_t>(order.size())};
  const Loop* loop = &outermost;
  for (const AxisId axis : order) {
    const std::int64_t* const extent = loop != nullptr ? as_int(loop->extent) : nullptr;
    const bool fits = extent != nullptr && loop->kind == LoopKind::serial && is_const(loop->min, 0) &&
                      takes_extent(outermost.intrinsic, axis, *extent);
    if (!fits || !loop->body.defined()) return std::nullopt;
    nest.vars[axis.index()] = loop->index;
    nest.extents[axis.index()] = *extent;
    nest.store = std::get_if<Store>(&loop->body->kind);
    loop = std::get_if<Loop>(&loop->body->kind);
  }
  if (nest.store == nullptr || nest.store->mask.defined() || nest.store->index.size() != 1) return std::nullopt;
  return nest;
}

std::optional<TileOperand> operand_at(BufferId buffer, const Expr& index, const std::vector<VarId>& vars,
                                      ExprTable& table) {
  const ExprInfo& info = table[table.intern(index)];
  if (!info.is_linear || info.linear.lane_stride != 0) return std::nullopt;
  TileOperand operand{buffer, {{}, info.linear.constant, 0}, std::vector<std::int64_t>(vars.size(), 0)};
  for (const auto& [atom, coefficient] : info.linear.terms) {
    const ExprInfo& part = table[atom];
    const Var* v = std::get_if<Var>(&part.expr->kind);
    const auto own = v ? std::find(vars.begin(), vars.end(), v->id) : vars.end();
    if (own != vars.end())
      operand.strides[static_cast<std::size_t>(own - vars.begin())] = coefficient;
    else if (std::any_of(vars.begin(), vars.end(), [&](VarId id) {
               return std::find(part.vars.begin(), part.vars.end(), id) != part.vars.end();
             }))
      return std::nullopt;
    else
      operand.base.terms.emplace_back(atom, coefficient);
  }
  return operand;
}

bool lies_as_needed(const IntrinsicTile& tile) {
  const auto strides = [&](std::size_t k) -> const std::vector<std::int64_t>& { return tile.operands[k].strides; };
  switch (tile.intrinsic) {
    case Intrinsic::transpose8:
    case Intrinsic::transpose16:
      return strides(0)[1] == 1 && strides(1)[0] == 1;
    case Intrinsic::transpose16_pairs:
      return strides(0)[1] == 2 && strides(0)[2] == 1 && strides(1)[0] == 2 && strides(1)[2] == 1;
    case Intrinsic::interleave16:
      return strides(0)[0] == 2 && strides(0)[1] == 1 && strides(1)[0] == 1;
    case Intrinsic::dot4:
    case Intrinsic::dot2:
    case Intrinsic::dot2_i16:
    case Intrinsic::dot4x8:
    case Intrinsic::dot2x8:
    case Intrinsic::dot2_i16x8:  // sums side by side, four factors or two in a word, weights of all sums in one vector
      return strides(0)[0] == 1 && strides(0)[1] == 0 && strides(1)[0] == 0 && strides(1)[1] == 1 &&
             strides(2)[0] == op_of(tile.intrinsic).element().reduce_axes[0].extent && strides(2)[1] == 1;
    case Intrinsic::tile_bf16:
    case Intrinsic::tile_u8: {
      const std::int64_t word = op_of(tile.intrinsic).element().reduce_axes[1].extent;
      return strides(0) == std::vector<std::int64_t>{strides(0)[0], 1, 0, 0} &&
             strides(1) == std::vector<std::int64_t>{strides(1)[0], 0, word, 1} &&
             strides(2) == std::vector<std::int64_t>{0, word, strides(2)[2], 1};
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<IntrinsicTile> recognise_tile(const Loop& loop, ExprTable& table) {
  if (loop.intrinsic == Intrinsic::none) return std::nullopt;
  const ComputeDag& definition = definition_of(loop.intrinsic);
  const Element& wanted = op_of(loop.intrinsic).element();
  const std::optional<Nest> nest = nest_of(loop);
  if (!nest) return std::nullopt;
  IntrinsicTile tile{loop.intrinsic, nest->extents, {}};
  auto add = [&](BufferId buffer, const Expr& index) {
    std::optional<TileOperand> operand = operand_at(buffer, index, nest->vars, table);
    if (operand) tile.operands.push_back(*std::move(operand));
    return operand.has_value();
  };
  if (!add(nest->store->buffer, nest->store->index[0])) return std::nullopt;
  Expr value = nest->store->value;
  if (wanted.reducer) {
    const Binary* sum = std::get_if<Binary>(&value->kind);
    const Load* old = sum && sum->op == binary_of(*wanted.reducer) ? std::get_if<Load>(&sum->a->kind) : nullptr;
    const bool same_place = old && old->source.value == nest->store->buffer.value && !old->mask.defined() &&
                            table.intern(old->index[0]) == table.intern(nest->store->index[0]);
    if (!same_place) return std::nullopt;
    value = sum->b;
  }
  const std::vector<Expr> loads = matching_loads(wanted.body, value, definition.ops.size() - 1);
  if (loads.empty()) return std::nullopt;
  for (const Expr& e : loads) {
    const Load& load = std::get<Load>(e->kind);
    const BufferId from(load.source.value);
    if (load.index.size() != 1 || from == nest->store->buffer || !add(from, load.index[0])) return std::nullopt;
  }
  return lies_as_needed(tile) ? std::optional(std::move(tile)) : std::nullopt;
}

}  // namespace whet
