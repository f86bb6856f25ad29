#include <algorithm>

#include "compute/dag.h"
#include "graph/infer.h"

namespace whet {
namespace {

/// The inputs have the types of the definition's scalars, and any shapes that broadcast.
Result<TensorType> infer_elements(const InferSite& site, const CustomOperator& op,
                                  const std::vector<TensorType>& wanted) {
  Shape shape;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (site.in(i).dtype != wanted[i].dtype)
      return site.error("input " + std::to_string(i) + " is " + to_string(site.in(i)) + "; " + op.name +
                        " is defined for " + std::string(name_of(wanted[i].dtype)));
    const std::optional<Shape> both = broadcast(shape, site.in(i).shape);
    if (!both)
      return site.error("input " + std::to_string(i) + " is " + to_string(site.in(i)) +
                        ", which does not broadcast with the inputs before it, " + to_string(shape));
    shape = *both;
  }
  return TensorType{op.definition->op(op.definition->outputs[0]).dtype, shape};
}

}  // namespace

bool is_elementwise(const CustomOperator& op) {
  return std::ranges::all_of(op.definition->ops, [](const Op& each) {
    return each.shape.empty() && (each.is_placeholder() || !each.element().reducer);
  });
}

bool operator==(const CustomOperator& a, const CustomOperator& b) {
  return a.name == b.name && (a.definition == b.definition || same_dag(*a.definition, *b.definition));
}

Result<TensorType> infer(const InferSite& site, const CustomOperator& op) {
  std::vector<TensorType> wanted;
  for (const Op& each : op.definition->ops)
    if (each.is_placeholder()) wanted.push_back({each.dtype, each.shape});
  WHET_RETURN_IF_ERROR(site.expect_inputs(wanted.size()));
  if (is_elementwise(op)) return infer_elements(site, op, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (site.in(i) != wanted[i])
      return site.error("input " + std::to_string(i) + " is " + to_string(site.in(i)) + "; " + op.name +
                        " is defined for " + to_string(wanted[i]));
  for (const Op& each : op.definition->ops) WHET_RETURN_IF_ERROR(check_shape(site.node + ": " + each.name, each.shape));
  const Op& result = op.definition->op(op.definition->outputs[0]);
  return TensorType{result.dtype, result.shape};
}

}  // namespace whet
