#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alternatives/convert.h"

namespace whet {

/// Grows the fragment of a cover: a kernel of nodes that need not be side by side in the fused graph.
class CoverBuilder {
 public:
  explicit CoverBuilder(const Graph& from) : from_(from) {}

  /// A stored value as an input of the fragment; equal ones are one input.
  ValueId read(StoredValue stored, const std::string& name, const TensorType& type) {
    const auto [known, is_new] = inputs_.try_emplace(stored);
    if (!is_new) return known->second;
    known->second = fragment_.graph.add_value(unique(name), type);
    fragment_.graph.inputs.push_back(known->second);
    fragment_.reads.push_back(stored);
    return known->second;
  }
  /// A value of the fused graph: a constant, or an input channels last.
  ValueId operand(ValueId id) {
    const Value& value = from_.value(id);
    return value.constant ? constant(value.name, *value.constant) : read({id, kChannelsLast}, value.name, value.type);
  }
  ValueId constant(const std::string& name, Tensor tensor) {
    return fragment_.graph.add_constant(unique(name), std::move(tensor));
  }
  /// A node of the kernel.
  Result<ValueId> compute(const std::string& name, Operator op, std::vector<ValueId> inputs) {
    fragment_.kernel.push_back(NodeId(std::ssize(fragment_.graph.nodes)));
    return fragment_.graph.add_node(unique(name), std::move(op), std::move(inputs));
  }

  /// One result, which may be several stored values.
  Fragment finish(ValueId now, std::vector<StoredValue> stored) && {
    fragment_.graph.outputs.assign(stored.size(), now);
    fragment_.writes = std::move(stored);
    return std::move(fragment_);
  }

 private:
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
    return name;
  }

  const Graph& from_;
  Fragment fragment_;
  std::map<StoredValue, ValueId> inputs_;
  std::set<std::string> names_;
};

}  // namespace whet
