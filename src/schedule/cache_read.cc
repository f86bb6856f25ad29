#include "schedule/cache_read.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"

namespace whet {
namespace {

Op copy_of(const ComputeDag& dag, OpId tensor) {
  const Op& source = dag.op(tensor);
  Op copy{.name = source.name + "_copy",
          .dtype = source.dtype,
          .shape = source.shape,
          .def = Element{},
          .sizes = source.sizes};
  while (std::any_of(dag.ops.begin(), dag.ops.end(), [&](const Op& op) { return op.name == copy.name; }))
    copy.name += "_";
  Element& element = copy.element();
  element.family = OpFamily::injective;
  std::vector<Expr> index;
  for (std::size_t k = 0; k < source.shape.size(); ++k) {
    element.axes.push_back({.name = fmt::format("i{}", k),
                            .extent = source.shape[k],
                            .size = source.sizes.empty() ? Expr() : source.sizes[k]});
    index.push_back(axis_var(element, static_cast<std::int64_t>(k)));
  }
  element.body = load(dag, tensor, index);
  return copy;
}

}  // namespace

Status apply(LoopTree& tree, const CacheRead& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.reader));
  const ComputeDag& dag = tree.dag;
  const std::vector<OpId> inputs = inputs_of(dag, step.reader);
  if (std::find(inputs.begin(), inputs.end(), step.tensor) == inputs.end())
    return refuse(tree, step.reader, fmt::format("does not read o{}", step.tensor.value));
  if (is_constant(dag, step.tensor)) return refuse(tree, step.tensor, "is constant; pack it");
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.reader, "copies are made"));

  ComputeDag changed;
  changed.sizes = dag.sizes, changed.at = dag.at;
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const OpId old(static_cast<std::int64_t>(k));
    std::vector<OpId> sources = renamed;
    if (old == step.reader) sources[step.tensor.index()] = changed.add(copy_of(dag, step.tensor));
    Op op = dag.op(old);
    if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, sources);
    renamed.push_back(changed.add(std::move(op)));
  }
  for (OpId output : dag.outputs) changed.outputs.push_back(renamed[output.index()]);
  tree = make_loop_tree(std::move(changed));
  return ok_status();
}

}  // namespace whet
