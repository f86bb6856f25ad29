#include "schedule/pack.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"

namespace whet {
namespace {

/// Every reader of `op` is in the packing, or gone into it.
bool is_read_ahead_only(const LoopTree& tree, OpId op) {
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), op) != tree.dag.outputs.end()) return false;
  for (OpId reader : consumers_of(tree.dag, op))
    if (tree.place(reader).kind != PlaceKind::ahead && tree.place(reader).kind != PlaceKind::inlined) return false;
  return true;
}

/// Moves `op`, which depends on constants alone, and what only it needs, from the kernel into the packing.
Status compute_ahead(LoopTree& tree, OpId op, OpId reader) {
  for (OpId other : consumers_of(tree.dag, op))
    if (other != reader && has_loops(tree, other))
      return refuse(tree, op, fmt::format("is also read by {}", tree.dag.op(other).name));
  for (LoopId own : own_loops(tree, op))
    if (is_frozen(tree, own)) return refuse(tree, op, "has something computed under its loops");
  remove_nest(tree, op);
  tree.places[op.index()].kind = PlaceKind::ahead;
  for (std::size_t k = op.index(); k-- > 0;) {
    const OpId before(static_cast<std::int64_t>(k));
    if (tree.place(before).kind != PlaceKind::root || !is_constant(tree.dag, before)) continue;
    if (!is_read_ahead_only(tree, before)) continue;
    remove_nest(tree, before);
    tree.places[k].kind = PlaceKind::ahead;
  }
  return ok_status();
}

/// The value changes with the DAG's sizes: it has a size in it, or an axis of the op that has one.
bool changes(const Op& op, const Expr& e) {
  bool found = false;
  for_each(e, [&](const Expr& part) {
    const Var* v = std::get_if<Var>(&part->kind);
    found = found || (v && (!v->id.valid() || is_sized(axis_of(op.element(), AxisId(v->id.value)))));
  });
  return found;
}

/// Packed constants are made once, for all sizes.
Status check_same_at_all_sizes(const LoopTree& tree, const Pack& step) {
  const Op& reader = tree.dag.op(step.reader);
  bool moves = false;
  for_each(reader.element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->source.value != step.tensor.value) return;
    for (const Expr& index : read->index) moves = moves || changes(reader, index);
  });
  std::vector<bool> needed(step.tensor.index() + 1, false);  // of what is packed
  needed.back() = true;
  for (std::size_t k = needed.size(); k-- > 0;) {
    if (!needed[k]) continue;
    const Op& op = tree.dag.ops[k];
    moves = moves || !op.sizes.empty() || (!op.is_placeholder() && changes(op, op.element().body));
    for (const OpId input : inputs_of(tree.dag, OpId(static_cast<std::int64_t>(k)))) needed[input.index()] = true;
  }
  if (!moves) return ok_status();
  return refuse(
      tree, step.tensor,
      fmt::format("is read by {} along what has a size; constants are packed once, for all sizes", reader.name));
}

}  // namespace

bool is_read_where_data_say(const ComputeDag& dag, OpId tensor, OpId reader) {
  bool found = false;
  for_each(dag.op(reader).element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->source.value != tensor.value) return;
    for (const Expr& index : read->index)
      for_each(index, [&](const Expr& inner) {
        const Load* says = std::get_if<Load>(&inner->kind);
        found = found || (says && !is_constant(dag, OpId(says->source.value)));
      });
  });
  return found;
}

Status apply(LoopTree& tree, const Pack& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.reader));
  if (!step.tensor.valid() || step.tensor.index() >= tree.dag.ops.size())
    return Error{fmt::format("there is no op o{} to pack", step.tensor.value)};
  const PlaceKind kind = tree.place(step.tensor).kind;
  if ((kind != PlaceKind::placeholder && kind != PlaceKind::root) || !is_constant(tree.dag, step.tensor))
    return refuse(tree, step.tensor, "does not depend on constants alone; only weights are packed ahead of time");
  int reads = 0;
  for_each(tree.dag.op(step.reader).element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    reads += read && read->source.value == step.tensor.value;
  });
  if (reads != 1)
    return refuse(
        tree, step.tensor,
        fmt::format("is read {} times by {}; exactly one read can be packed", reads, tree.dag.op(step.reader).name));
  if (is_read_where_data_say(tree.dag, step.tensor, step.reader))
    return refuse(tree, step.tensor,
                  fmt::format("is read by {} at places that data decide; only what is read at known places is packed",
                              tree.dag.op(step.reader).name));
  for (const PackedRead& packed : tree.packs)
    if (packed.tensor == step.tensor && packed.reader == step.reader)
      return refuse(tree, step.tensor, "is packed already");
  if (is_sized(tree.dag)) WHET_RETURN_IF_ERROR(check_same_at_all_sizes(tree, step));
  if (kind == PlaceKind::root) WHET_RETURN_IF_ERROR(compute_ahead(tree, step.tensor, step.reader));
  tree.packs.push_back({step.tensor, step.reader});
  return ok_status();
}

}  // namespace whet
