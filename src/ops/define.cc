#include "ops/define.h"

#include "ops/site.h"

namespace whet {

Result<OpId> define(ComputeDag& dag, const Operator& op, const std::vector<OpId>& inputs,
                    const std::vector<TensorType>& input_types, const TensorType& output, const std::string& name) {
  WHET_CHECK(inputs.size() == input_types.size());
  if (num_elements(output.shape) == 0) {
    return Error{name + ": the result is " + to_string(output) + ", which is empty; there is nothing to compute"};
  }
  const Site site{dag, inputs, input_types, output, name};
  // Exhaustive: an operator without a definition does not compile (each `define_at` stands in site.h).
  const OpId id = std::visit([&](const auto& o) { return define_at(site, o); }, op);
  WHET_CHECK(dag.op(id).shape == output.shape && dag.op(id).dtype == output.dtype, name.c_str());
  return id;
}

}  // namespace whet
