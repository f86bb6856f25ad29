#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Makes a new graph from an old one. A pass walks the old nodes in order and, for each, copies it or gives the value
/// that replaces its value. Old ids name values of `from`, new ids those of the graph that grows.
class Rewriter {
 public:
  /// Takes over the name and the inputs.
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  const Graph& graph() const { return to_; }
  const TensorType& type(ValueId now) const { return to_.value(now).type; }
  const Shape& shape(ValueId now) const { return type(now).shape; }

  /// The new value of an old one. Constants are taken over when they are first asked for.
  ValueId now(ValueId old);
  std::vector<ValueId> now(const std::vector<ValueId>& old);
  void replace(ValueId old, ValueId now) { now_[old.index()] = now; }

  /// Adds a node (its name is made unique) and returns its value.
  Result<ValueId> emit(const std::string& name, Operator op, std::vector<ValueId> inputs);
  ValueId constant(const std::string& name, Tensor tensor);
  /// Copies the old node over the new values of its inputs. The result keeps its name.
  Status copy(const Node& node);
  /// Copies it over other (new) inputs, as many.
  Status copy_over(const Node& node, std::vector<ValueId> inputs);
  /// Copies the node with another operator or other (new) inputs.
  Status copy_as(const Node& node, Operator op, std::vector<ValueId> inputs);

  /// The new node that computes `now`; null for inputs and constants.
  const Node* producer(ValueId now) const;
  /// The node that computes `now` by the operator T; null when there is none.
  template <typename T>
  const Node* producer_as(ValueId now) const {
    const Node* node = producer(now);
    return node && std::holds_alternative<T>(node->op) ? node : nullptr;
  }
  const Tensor* constant_of(ValueId now) const {
    const auto& constant = to_.value(now).constant;
    return constant ? &*constant : nullptr;
  }
  /// How often nodes and outputs of the old graph read an old value.
  int uses(ValueId old) const { return uses_[old.index()]; }

  /// The new graph. Its outputs are the new values of the old outputs.
  Graph finish() &&;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string unique(const std::string& wanted);
  void note_producer(ValueId now);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> now_;
  std::vector<int> uses_;
  std::unordered_set<std::string> names_;         ///< of both graphs; empty until a name is asked for
  std::unordered_map<std::string, int> numbers_;  ///< the last one behind a name: none below is free
  std::vector<std::size_t> producers_;            ///< by new value: its node, or kNone; shorter than the values
};

/// How often nodes and outputs read each value.
std::vector<int> count_uses(const Graph&);

}  // namespace whet
