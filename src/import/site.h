#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/growing.h"

namespace whet {

/// A size that values may decide: `count` (i64, a scalar) is then the number itself, which is `most` at most.
struct Size {
  std::int64_t most = 0;
  std::optional<ValueId> count = std::nullopt;
};
/// The sizes as extents of a tensor that has room for all.
Shape most_of(const std::vector<Size>&);

/// The place of a node, of any format, in the growing graph: its name begins messages and the names of its steps, and its
/// results get the names that the file has for them. Parts (parts/) compute with it; a format's own site adds the reading of
/// attributes. It is long by many short steps, which share nothing but the graph and the node's name.
class NodeSite {
 public:
  /// `name`: the node's. `outputs`: the names of its results in the file; "" where a result is left out. `is_inner`: the
  /// node belongs to a body, whose names are not the graph's.
  NodeSite(GrowingGraph& graph, std::string name, std::vector<std::string> outputs, bool is_inner = false)
      : graph_(graph), name_(std::move(name)), outputs_(std::move(outputs)), is_inner_(is_inner) {}
  virtual ~NodeSite() = default;

  const std::string& name() const { return name_; }
  /// "name: sentence"
  Error error(const std::string& sentence) const { return Error{name_ + ": " + sentence}; }

  // ---- Values. References into the graph hold until the next step is added.
  const TensorType& type(ValueId id) const { return graph_.graph.value(id).type; }
  const Shape& shape(ValueId id) const { return type(id).shape; }
  DType dtype(ValueId id) const { return type(id).dtype; }
  std::size_t rank(ValueId id) const { return shape(id).size(); }
  bool is_sequence(ValueId id) const { return graph_.sequence(id) != nullptr; }
  /// The value where it is known, else null: also where some of it is padding.
  const Tensor* constant(ValueId id) const;
  /// The value, called `what` in the error when it is not known.
  Result<Tensor> known(ValueId id, const std::string& what);
  /// What is known of a condition that is one of two, the other of which values decide; none: nothing.
  std::optional<bool> known_part(ValueId condition) const;
  /// Whether a loop goes on, by the condition of its next round.
  Result<bool> goes_on(ValueId condition) const;
  /// A list of sizes, some of which may be decided by values.
  Result<std::vector<Size>> known_sizes(ValueId id, const std::string& what);
  /// The same as a list of integers (a scalar is a list of one), as one number, or as a list of floats.
  Result<std::vector<std::int64_t>> known_integers(ValueId id, const std::string& what);
  Result<double> known_number(ValueId id, const std::string& what);
  Result<std::vector<double>> known_numbers(ValueId id, const std::string& what);
  /// `axis` counted from 0: negative ones count from the end. Valid: -rank .. rank-1 (`limit` rank), or to rank.
  Result<std::int64_t> resolve_axis(std::int64_t axis, std::size_t limit) const;
  /// The same for a list, sorted; each once.
  Result<std::vector<std::int64_t>> resolve_axes(std::vector<std::int64_t> axes, std::size_t rank) const;

  // ---- Steps on the way, called "name/part". Refusals name the node.
  Result<ValueId> add(const std::string& part, const Operator&, std::vector<ValueId> inputs);
  ValueId add_constant(const std::string& part, Tensor);
  /// `x`, of whose dimension `d` only the first `count` (i64, a scalar) entries are results: see GrowingGraph.
  void set_count(ValueId x, std::size_t d, ValueId count) { graph_.set_counted(x, {{d, count}}); }
  void set_counted(ValueId x, Counted counted) { graph_.set_counted(x, std::move(counted)); }
  const Counted& counted(ValueId x) const { return graph_.counted(x); }
  const Bounds* bounds(ValueId x) const { return graph_.bounds(x); }
  /// The extents of x, with the numbers of its results.
  std::vector<Size> sizes(ValueId x) const;
  /// Counts x, whose extents are the `most` of sizes, in the dimensions of those that values decide.
  void set_sizes(ValueId x, const std::vector<Size>&);
  /// Sizes as numbers: a list (i64), or their product (i64, a scalar).
  Result<ValueId> size_list(const std::vector<Size>&);
  Result<ValueId> size_product(const std::vector<Size>&);
  /// `x` with other padding, if it has any.
  Result<ValueId> padded_by(ValueId x, double number);
  ValueId add_scalar(const std::string& part, DType, double value);
  /// Whether `either` chooses among them: they have one type, or one of them is empty where the other has entries.
  bool are_alike(ValueId a, ValueId b) const;
  /// `a` where the scalar `condition` is true, else `b`; numbers of results are those of the chosen one. Needs: are_alike.
  Result<ValueId> either(ValueId condition, ValueId a, ValueId b);
  /// `x` as `dtype`; itself where it is.
  Result<ValueId> cast(const std::string& part, ValueId x, DType dtype);

  // ---- Results. One that is left out is not made.
  std::size_t output_count() const { return outputs_.size(); }
  bool wants_output(std::size_t i) const { return i < outputs_.size() && !outputs_[i].empty(); }
  /// The node's output `i` is `x`; a step or constant of this site that is given first takes the file's names.
  virtual Status give(ValueId x, std::size_t i = 0);
  /// The node's output `i` is `x`, under the names that it has.
  virtual Status pass(ValueId x, std::size_t i = 0);
  /// The same of what a part gave, or its refusal.
  Status give(const Result<ValueId>& x, std::size_t i = 0) { return x.ok() ? give(*x, i) : x.error(); }
  Status pass(const Result<ValueId>& x, std::size_t i = 0) { return x.ok() ? pass(*x, i) : x.error(); }
  /// All outputs in order, of which there may be more than the node has.
  Status give(const Result<std::vector<ValueId>>&);
  /// The node's output `i` is the result of an operator, a constant, or a list of values of one type of element.
  virtual Status give(const Operator&, std::vector<ValueId> inputs, std::size_t i = 0);
  Status give_constant(Tensor, std::size_t i = 0);
  Status give_sequence(DType, std::vector<ValueId>, std::size_t i = 0);
  /// The node's output 0 is an optional value that is not there.
  Status give_absent();
  /// What was given as output `i`.
  ValueId given(std::size_t i) const { return graph_.find(outputs_[i]); }

 protected:
  /// The name in the graph of the value of output `i`.
  std::string value_name(std::size_t i) const {
    return is_inner_ ? graph_.unique_value_name(outputs_[i]) : outputs_[i];
  }

  GrowingGraph& graph_;
  std::string name_;
  std::vector<std::string> outputs_;
  bool is_inner_;

 private:
  /// Of equal shapes.
  Result<ValueId> one_of(ValueId condition, ValueId a, ValueId b);
  /// The one that has entries, and none of them where the empty one is chosen.
  Result<ValueId> either_or_nothing(ValueId condition, ValueId a, ValueId b);

  std::vector<GrowingGraph::Step> steps_;  ///< added and not given yet
};

}  // namespace whet
