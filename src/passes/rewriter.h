#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// How a pass makes a new graph from an old one: it walks the old nodes in order and, for each, copies it or says what
/// stands for its value. Old ids name values of `from`, new ids those of the graph that grows.
class Rewriter {
 public:
  /// Takes over the name and the inputs.
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  const Graph& graph() const { return to_; }
  const TensorType& type(ValueId now) const { return to_.value(now).type; }
  const Shape& shape(ValueId now) const { return type(now).shape; }

  /// What stands for an old value; constants are taken over when they are first asked for.
  ValueId now(ValueId old);
  std::vector<ValueId> now(const std::vector<ValueId>& old);
  void replace(ValueId old, ValueId now) { now_[old.index()] = now; }

  /// A new node (its name made unique) and its value.
  Result<ValueId> emit(const std::string& name, Operator op, std::vector<ValueId> inputs);
  ValueId constant(const std::string& name, Tensor tensor);
  /// The old node as it is, over what stands for its inputs; its value keeps its name.
  Status copy(const Node& node);
  /// The same with another operator or other (new) inputs.
  Status copy_as(const Node& node, Operator op, std::vector<ValueId> inputs);

  /// The new node that computes `now`; nullptr for inputs and constants.
  const Node* producer(ValueId now) const;
  /// The operator T that computes `now`; nullptr when another does or none.
  template <typename T>
  const Node* producer_as(ValueId now) const {
    const Node* node = producer(now);
    return node && std::holds_alternative<T>(node->op) ? node : nullptr;
  }
  const Tensor* constant_of(ValueId now) const {
    const auto& constant = to_.value(now).constant;
    return constant ? &*constant : nullptr;
  }
  /// How many times nodes and outputs of the old graph read an old value.
  int uses(ValueId old) const { return uses_[old.index()]; }

  /// The new graph, with the outputs that stand for the old ones.
  Graph finish() &&;

 private:
  std::string unique(const std::string& wanted);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> now_;
  std::vector<int> uses_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::int32_t, std::size_t> producers_;
};

/// How many times nodes and outputs read each value.
std::vector<int> count_uses(const Graph&);

}  // namespace whet
