#include "ops/define.h"

#include "ops/site.h"

namespace whet {

std::string OpNames::unique(const ComputeDag& dag, const std::string& wanted) {
  for (; seen_ < dag.ops.size(); ++seen_) taken_.insert(dag.ops[seen_].name);
  if (taken_.insert(wanted).second) return wanted;
  int& number = last_[wanted];
  while (true) {
    std::string name = wanted + "_" + std::to_string(++number);
    if (taken_.insert(name).second) return name;
  }
}

Result<OpId> define(ComputeDag& dag, const Operator& op, const std::vector<OpId>& inputs,
                    const std::vector<TensorType>& input_types, const TensorType& output, const std::string& name) {
  OpNames names;
  return define(dag, names, op, inputs, input_types, output, name);
}

Result<OpId> define(ComputeDag& dag, OpNames& names, const Operator& op, const std::vector<OpId>& inputs,
                    const std::vector<TensorType>& input_types, const TensorType& output, const std::string& name) {
  WHET_CHECK(inputs.size() == input_types.size());
  if (num_elements(output.shape) == 0) {
    return Error{name + ": the result is " + to_string(output) + ", which is empty; there is nothing to compute"};
  }
  const Site site{dag, names, inputs, input_types, output, name};
  // Exhaustive: an operator without a definition does not compile (each `define_at` is in site.h).
  const OpId id = std::visit([&](const auto& o) { return define_at(site, o); }, op);
  WHET_CHECK(dag.op(id).shape == output.shape && dag.op(id).dtype == output.dtype, name.c_str());
  return id;
}

}  // namespace whet
