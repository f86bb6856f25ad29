#include "compute/dag.h"
#include "graph/infer.h"

namespace whet {

bool operator==(const CustomOperator& a, const CustomOperator& b) {
  return a.name == b.name && (a.definition == b.definition || same_dag(*a.definition, *b.definition));
}

Result<TensorType> infer(const InferSite& site, const CustomOperator& op) {
  std::vector<TensorType> wanted;
  for (const Op& each : op.definition->ops)
    if (each.is_placeholder()) wanted.push_back({each.dtype, each.shape});
  WHET_RETURN_IF_ERROR(site.expect_inputs(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (site.in(i) != wanted[i])
      return site.error("input " + std::to_string(i) + " is " + to_string(site.in(i)) + "; " + op.name +
                        " is defined for " + to_string(wanted[i]));
  for (const Op& each : op.definition->ops) WHET_RETURN_IF_ERROR(check_shape(site.node + ": " + each.name, each.shape));
  const Op& result = op.definition->op(op.definition->outputs[0]);
  return TensorType{result.dtype, result.shape};
}

}  // namespace whet
