#include "compute/split_sum.h"

#include <algorithm>

namespace whet {
namespace {

Error no_axis(const Element& element, std::int64_t axis) {
  const auto first = static_cast<std::int64_t>(element.axes.size());
  const auto last = first + static_cast<std::int64_t>(element.reduce_axes.size()) - 1;
  return Error{"has no reduce axis " + std::to_string(axis) + "; its reduce axes are " + std::to_string(first) +
               " to " + std::to_string(last)};
}

/// A name that nothing in `taken` has.
template <typename Named>
std::string fresh_name(const std::vector<Named>& taken, std::string name) {
  while (std::any_of(taken.begin(), taken.end(), [&](const Named& other) { return other.name == name; })) name += "_";
  return name;
}

/// The reduction of each part.
Op parts_of(const ComputeDag& dag, OpId id, std::int64_t axis, std::int64_t parts) {
  Op op = dag.op(id);
  const Element whole = dag.op(id).element();
  const auto spatial = static_cast<std::int64_t>(whole.axes.size());
  const Axis& split = axis_of(whole, AxisId(axis));
  const std::int64_t length = (split.extent + parts - 1) / parts;

  op.name = fresh_name(dag.ops, op.name + "_parts");
  op.shape.insert(op.shape.begin(), parts);
  Element& element = op.element();
  std::vector<Axis> taken = whole.axes;
  taken.insert(taken.end(), whole.reduce_axes.begin(), whole.reduce_axes.end());
  element.axes.insert(element.axes.begin(), Axis{fresh_name(taken, split.name + "_part"), parts, AxisRole::other});
  element.reduce_axes[static_cast<std::size_t>(axis - spatial)].extent = length;

  const Expr step = axis_var(element, 0) * length + axis_var(element, axis + 1);
  element.body =
      substitute(whole.body, [&](VarId v) { return v.value == axis ? step : axis_var(element, v.value + 1); });
  if (parts * length > split.extent)
    element.body =
        select(step < int_const(split.extent), element.body, identity_of(*element.reducer, element.body->dtype));
  return op;
}

/// The reduction of the parts' results.
Op sum_of_parts(Op op, OpId parts_id, const Op& parts) {
  Element& element = op.element();
  element.reduce_axes = {parts.element().axes.front()};
  element.family = OpFamily::reduce;
  std::vector<Expr> index = {axis_var(element, static_cast<std::int64_t>(element.axes.size()))};
  for (std::size_t k = 0; k < element.axes.size(); ++k)
    index.push_back(axis_var(element, static_cast<std::int64_t>(k)));
  element.body = load(op.dtype, SourceId(parts_id.value), std::move(index));
  return op;
}

}  // namespace

Result<ComputeDag> split_sum(const ComputeDag& dag, OpId id, std::int64_t axis, std::int64_t parts) {
  const Element& element = dag.op(id).element();
  if (!element.reducer) return Error{"does not reduce"};
  const auto spatial = static_cast<std::int64_t>(element.axes.size());
  if (axis < spatial || axis >= spatial + static_cast<std::int64_t>(element.reduce_axes.size()))
    return no_axis(element, axis);
  const Axis& split = axis_of(element, AxisId(axis));
  if (parts < 2 || parts > split.extent / kLeastPart)
    return Error{"cannot have " + std::to_string(parts) + " parts of the " + std::to_string(split.extent) +
                 " steps of axis " + split.name + ": a sum has 2 parts or more, and a part " +
                 std::to_string(kLeastPart) + " steps or more"};

  ComputeDag changed;
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const OpId old(static_cast<std::int64_t>(k));
    Op op = old == id ? parts_of(dag, id, axis, parts) : dag.op(old);
    if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, renamed);
    OpId fresh = changed.add(std::move(op));
    if (old == id) fresh = changed.add(sum_of_parts(dag.op(id), fresh, changed.op(fresh)));
    renamed.push_back(fresh);
  }
  for (OpId output : dag.outputs) changed.outputs.push_back(renamed[output.index()]);
  return changed;
}

}  // namespace whet
