#include "schedule/reverse_compute_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schedule/check.h"
#include "schedule/regions.h"

namespace whet {
namespace {

/// The axis runs over all of dimension `k` of what `op` computes, at all sizes.
bool is_whole(const Axis& axis, const Op& op, std::size_t k) {
  return axis.extent == op.shape[k] && same(axis.size, op.sizes.empty() ? Expr() : op.sizes[k]);
}

/// For each axis of `producer` the axis of `consumer` that runs over it (empty: the producer's extent is 1 and it is
/// read at 0); an error where the consumer reads it anywhere else.
Result<std::vector<std::optional<AxisId>>> matching_axes(const LoopTree& tree, OpId consumer, OpId producer) {
  const Element& element = tree.dag.op(consumer).element();
  std::vector<std::optional<AxisId>> axes(tree.dag.op(producer).shape.size());
  bool seen = false, elsewhere = element.reducer.has_value();
  for_each(element.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->source.value != producer.value) return;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const Var* v = std::get_if<Var>(&read->index[k]->kind);
      std::optional<AxisId> axis;
      if (v) axis = AxisId(v->id.value);
      const bool single = tree.dag.op(producer).shape[k] == 1 && is_const(read->index[k], 0);
      elsewhere = elsewhere || (!v && !single) || (seen && axis != axes[k]);
      const bool spatial = v && axis->index() < element.axes.size();  // not along a reduce axis
      if (v && (!spatial || !is_whole(element.axes[axis->index()], tree.dag.op(producer), k))) elsewhere = true;
      axes[k] = axis;
    }
    seen = true;
  });
  for (std::size_t k = 0; k < axes.size(); ++k)
    for (std::size_t j = 0; j < k; ++j) elsewhere = elsewhere || (axes[k] && axes[k] == axes[j]);
  if (!seen) return refuse(tree, consumer, fmt::format("does not read {}", tree.dag.op(producer).name));
  if (elsewhere)
    return refuse(tree, consumer, fmt::format("reads {} elsewhere than at its own axes", tree.dag.op(producer).name));
  return axes;
}

/// Whether the elements of the digit's range that are computed while `at` runs once lie densely: a digit that runs
/// inside `at` must have all digits below it run inside too, or its steps leave gaps for later iterations of `at`.
bool is_dense(const LoopTree& tree, DigitId root, LoopId at) {
  bool inside = false, dense = true;
  for (DigitId id : leaves_of(tree, root)) {
    if (tree.digit(id).extent == 1) continue;
    const LoopId loop = loop_of(tree, id);
    const bool relaxed = loop != at && encloses(tree, at, loop);
    dense = dense && (relaxed || !inside);
    inside = inside || relaxed;
  }
  return dense;
}

/// A split within a split whose tail is guarded: behind its tail lies the next tile, whose elements are not finished.
bool has_guarded_tail_inside(const LoopTree& tree, DigitId id, DigitId root) {
  const Digit& digit = tree.digit(id);
  if (digit.leaf()) return false;
  if (id != root && !digit.divides() && digit.tail == Tail::guard) return true;
  return has_guarded_tail_inside(tree, digit.outer, root) || has_guarded_tail_inside(tree, digit.inner, root);
}

}  // namespace

Status apply(LoopTree& tree, const ReverseComputeAt& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_holds_ops(tree, step.loop));
  const OpId producer = tree.loop(step.loop).op;
  if (producer == step.op) return refuse(tree, step.op, "cannot go under its own loops");
  if (tree.place(producer).stored_in == StoredIn::block)
    return refuse(tree, producer, "is filled by all threads of a block together; nothing else is computed there");
  if (tree.place(step.op).kind != PlaceKind::root) return refuse(tree, step.op, "is placed already");
  for (LoopId own : own_loops(tree, step.op))
    if (is_frozen(tree, own)) return refuse(tree, step.op, "cannot move while something is computed under its loops");
  WHET_RETURN_IF_ERROR(check_stored_at(tree, producer, step.loop));
  WHET_TRY(const auto axes, matching_axes(tree, step.op, producer));
  for (OpId other : inputs_of(tree.dag, step.op)) {
    const PlaceKind kind = tree.place(other).kind;
    if (other != producer && kind != PlaceKind::placeholder)
      return refuse(tree, step.op, fmt::format("also reads {}, which may not be ready there", tree.dag.op(other).name));
  }
  for (OpId reader : consumers_of(tree.dag, step.op)) {
    const LoopId leaf = loop_of_leaf(tree, reader);
    if (leaf.valid() && path_to(tree, leaf).front() == path_to(tree, step.loop).front())
      return refuse(tree, step.op, fmt::format("is read by {} in the same nest", tree.dag.op(reader).name));
  }

  for (std::size_t k = 0; k < axes.size(); ++k)
    if (!is_dense(tree, tree.place(producer).axes[k], step.loop))
      return refuse(
          tree, step.loop,
          fmt::format("finishes elements of {} that are not neighbours along an axis", tree.dag.op(producer).name));

  for (std::size_t k = 0; k < axes.size(); ++k)
    if (const DigitId root = tree.place(producer).axes[k]; has_guarded_tail_inside(tree, root, root))
      return refuse(tree, producer,
                    fmt::format("has tiles in tiles along {} with guarded tails, behind which other tiles begin",
                                tree.dag.op(producer).element().axes[k].name));

  std::vector<Axis> nest = tree.dag.op(step.op).element().axes;
  Placement& place = tree.places[step.op.index()];
  const Region finished = computed_region(tree, producer, step.loop);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k]) continue;
    Axis& axis = nest[axes[k]->index()];
    axis.extent = finished[k].extent, axis.size = finished[k].size, place.base[axes[k]->index()] = finished[k].base;
  }
  remove_nest(tree, step.op);
  insert_nest(tree, step.op, nest, step.loop, tree.loop(step.loop).children.size());
  place.kind = PlaceKind::reverse_at, place.at = step.loop;
  tree.places[producer.index()].stored_in = step.registers ? StoredIn::registers : StoredIn::memory;
  return ok_status();
}

}  // namespace whet
