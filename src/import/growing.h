#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/bounds.h"
#include "import/counted.h"
#include "import/options.h"

namespace whet {

/// A graph while it is imported: it knows its values by their names in the file, folds what is known, and does not grow
/// without end.
class GrowingGraph {
 public:
  Graph graph;

  // ---- Names of the file.
  /// Keeps names of the file's values for those, so that steps on the way are called otherwise.
  void reserve(const std::vector<std::string>& names) { value_names_.insert(names.begin(), names.end()); }
  /// Names that a node reads, or that are outputs.
  void mark_read(const std::vector<std::string>& names) { read_names_.insert(names.begin(), names.end()); }
  bool is_read(const std::string& name) const { return read_names_.contains(name); }
  bool defined(const std::string& name) const { return values_.contains(name); }
  ValueId find(const std::string& name) const { return values_.at(name); }
  void define(const std::string& name, ValueId id) { values_[name] = id; }
  /// Takes the name away again, or gives it back to the value that had it around a body.
  void restore(const std::string& name, std::optional<ValueId> before) {
    values_.erase(name);
    if (before) values_.emplace(name, *before);
  }
  using ValuesByName = std::unordered_map<std::string, ValueId>;
  /// The values by their names, in exchange for others: the body of a function sees its own alone.
  ValuesByName exchange_values(ValuesByName values) { return std::exchange(values_, std::move(values)); }

  // ---- Operators that the user defines.
  void set_definitions(const OperatorDefinitions& definitions) { definitions_ = &definitions; }
  /// What the operator computes by the definition of the user, or null.
  const OperatorDefinition* definition_of(const std::string& op);
  /// The first operator that is defined and that no node had; "": there is none.
  std::string unused_definition() const;

  /// A format's numbers of element types that are held in wider ones, by the values that are of them.
  std::unordered_map<std::int32_t, std::int64_t> held_types;
  /// bf16 and i16 are not held in wider types: ImportOptions.
  bool native_types = false;

  /// An optional value that is not there.
  ValueId add_absent(const std::string& name);
  bool is_absent(ValueId id) const { return absent_.contains(id.value); }

  // ---- Results whose number depends on values.
  /// The dimensions of a value that have padding behind their results. Nodes that read it pass them on; those that would mix
  /// results with padding are refused.
  const Counted& counted(ValueId id) const;
  void set_counted(ValueId id, Counted);
  /// Of a value that is computed from numbers of results, and of these; null where it is known or nothing is known of it.
  const Bounds* bounds(ValueId id) const;
  /// The value with other padding: `number` (a scalar of its type). The result counts as one without padding.
  Result<ValueId> padded_by(const std::string& label, ValueId id, Tensor number);

  // ---- Growth.
  /// What `add` made: a value, and the node that computes it unless it was folded.
  struct Step {
    ValueId value;
    std::string name;  ///< that was asked for; the node's and the value's may have a number behind it
    std::optional<std::size_t> node;
  };
  /// Adds a node, or the constant that it folds to. `node_name` is made unique; `value_name` is. `label` begins messages.
  Result<Step> add(const std::string& label, const std::string& node_name, const std::string& value_name,
                   const Operator&, std::vector<ValueId> inputs);
  /// A step that nothing has asked the name of gets others; those that it had are free again. `node_name` is made unique;
  /// `value_name` is.
  void rename(const Step&, const std::string& node_name, const std::string& value_name);
  /// The node whose result a value is; null where it is none's.
  const Node* maker(ValueId) const;
  ValueId add_input(const std::string& name, TensorType);
  /// A constant that an importer made.
  ValueId add_made(const std::string& name, Tensor tensor) {
    made_bytes_ += tensor.bytes();
    return graph.add_constant(name, std::move(tensor));
  }
  /// A list of values: it is known while importing, and no node computes it.
  ValueId add_sequence(const std::string& name, DType, std::vector<ValueId> values);
  /// The values of a sequence, or null where `id` is a tensor.
  const std::vector<ValueId>* sequence(ValueId id) const;
  /// A small file may hold much: loops, steps and masks. The growth is checked behind each node.
  Status check_growth(const std::string& label) const;
  /// Before each body, with the number of values that go in and out, and before each node of one: functions that call others
  /// twice double, though they may add no value.
  Status count_inlined(const std::string& label, std::size_t values = 0);
  /// Whether nodes are no longer folded: what is computed while importing is bounded in bytes and in work.
  bool folding_ended() const;
  int depth = 0;  ///< bodies within bodies
  /// A name that no value has yet: `name`, or with a number behind it.
  std::string unique_value_name(const std::string& name) { return unique(name, value_names_); }

  // ---- What must be known while importing.
  /// Names of the graph's inputs whose values `id` is computed from.
  std::vector<std::string> inputs_behind(ValueId id) const;
  /// Inputs whose values an importer needed to know.
  std::set<std::string> needed_values;

 private:
  /// What is taken, and which number each name got last: loops ask for the same name thousands of times.
  struct Names : std::unordered_set<std::string> {
    std::unordered_map<std::string, int> last;
  };
  static std::string unique(const std::string& name, Names& taken);
  /// `given`, which `unique` made of `name` last, is free again.
  static void release(const std::string& name, const std::string& given, Names& taken);

  /// A node that the growth itself needs.
  Result<ValueId> add_step(const std::string& label, const std::string& part, const Operator&, std::vector<ValueId>);
  /// The counted dimensions of an operator's result. Operands get neutral padding where they need it.
  Result<Counted> count_result(const std::string& label, const Operator&, std::vector<ValueId>& inputs,
                               const TensorType& result);
  Result<ValueId> at_most(const std::string& label, ValueId count, std::int64_t most);
  /// The bounds of an operator's result, where operands have some and the others are known.
  std::optional<Bounds> bounds_of_result(const Operator&, const std::vector<ValueId>& inputs, const TensorType& result);
  bool counts_along(const std::vector<ValueId>& inputs, const std::vector<std::int64_t>& axes) const;
  /// How many entries along the axis are results (i64, a scalar).
  Result<ValueId> number_along(const std::string& label, ValueId, std::int64_t axis);
  /// The mean of results: their sum by their number.
  Result<Step> add_mean(const std::string& label, const std::string& node_name, const std::string& value_name,
                        const ReduceOperator&, std::vector<ValueId> inputs);
  /// The operands with their padding between them, which nothing but `add_joined` may read.
  Result<ValueId> add_whole(const std::string& label, const ConcatOperator&, const std::vector<ValueId>& inputs);
  /// Results side by side: each operand's begin where those of the one before end, and all padding is behind them.
  ///   y[i] = whole[i + sum of extent(k) - number(k) over the operands k whose results end at or before i]
  Result<Step> add_joined(const std::string& label, const std::string& node_name, const std::string& value_name,
                          const ConcatOperator&, std::vector<ValueId> inputs);

  /// Entries put at, or added to, places whose number values decide: padding goes to a row behind x, which is cut off again.
  Result<Step> add_scattered(const std::string& label, const std::string& node_name, const std::string& value_name,
                             const Operator&, std::vector<ValueId> inputs);
  /// The places of a scatter, padded by one behind x. None: values decide the length of what they are made of.
  Result<ValueId> places_in_room(const std::string& label, const Operator&, const std::vector<ValueId>& inputs);
  Error would_mix(const std::string& label, const Operator&, ValueId operand) const;

  ValuesByName values_;
  std::unordered_map<std::int32_t, std::vector<ValueId>> sequences_;
  std::unordered_set<std::int32_t> absent_;
  std::unordered_map<std::int32_t, std::size_t> makers_;  ///< numbers of nodes
  std::unordered_map<std::int32_t, Counted> counted_;
  std::unordered_map<std::int32_t, Bounds> bounds_;
  std::map<std::pair<std::int32_t, std::int64_t>, ValueId> cut_counts_;
  Names value_names_, node_names_, read_names_;
  const OperatorDefinitions* definitions_ = nullptr;
  std::set<std::string> used_definitions_;
  std::int64_t folded_bytes_ = 0, folding_work_ = 0, made_bytes_ = 0, inlined_nodes_ = 0;
};

}  // namespace whet
