#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/onnx/reader.h"

namespace whet {

/// The graph while it grows: its values by their names in the file.
class OnnxGraph {
 public:
  Graph graph;

  /// Keeps the names of the file's values for those, so that steps on the way are called otherwise; and learns which
  /// ones the nodes of `order` or the outputs read.
  void reserve_names(const OnnxModel&, const std::vector<std::size_t>& order);
  bool is_read(const std::string& name) const { return read_names_.contains(name); }
  bool defined(const std::string& name) const { return values_.contains(name); }
  ValueId find(const std::string& name) const { return values_.at(name); }
  void define(const std::string& name, ValueId id) { values_[name] = id; }
  /// Takes the name away again, or gives it back to what it named around a subgraph.
  void restore(const std::string& name, std::optional<ValueId> before) {
    values_.erase(name);
    if (before) values_.emplace(name, *before);
  }

  /// Adds a node, or the constant that it folds to. The node's name is made unique; `value_name` is.
  Result<ValueId> add(const std::string& node_name, const std::string& value_name, const Operator&,
                      std::vector<ValueId> inputs);
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
  /// A small file may hold much: loops, steps and masks. Behind each node the growth is looked at.
  Status check_growth(const std::string& node_name) const;
  /// Before each node of a body: functions that call others twice double, though they may add no value.
  Status count_inlined(const std::string& node_name);
  /// The values by their names, in exchange for others: the body of a function sees its own alone.
  using ValuesByName = std::unordered_map<std::string, ValueId>;
  ValuesByName exchange_values(ValuesByName values) { return std::exchange(values_, std::move(values)); }
  int depth = 0;  ///< bodies within bodies
  /// A name that no value has yet: `name`, or with a number behind it.
  std::string unique_value_name(const std::string& name) { return unique(name, value_names_); }
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

  ValuesByName values_;
  std::unordered_map<std::int32_t, std::vector<ValueId>> sequences_;
  Names value_names_, node_names_, read_names_;
  std::int64_t folded_bytes_ = 0, made_bytes_ = 0, inlined_nodes_ = 0;
};

/// Where nodes stand: in the model itself, or in the body of a function that a node calls.
struct OnnxScope {
  const OnnxModel& model;
  std::int64_t opset;                      ///< of the standard's operators here
  const OnnxFunction* function = nullptr;  ///< null in the model itself
  const OnnxScope* caller = nullptr;
  std::map<std::string, const OnnxAttribute*> attributes;  ///< that the call gives, or the function's defaults
};

/// What the importer of one node sees: its inputs as values, its attributes by type, and where its results go.
class OnnxSite {
 public:
  /// `name`: the node's, or its operator and position ("Conv_12"). All its inputs are defined. `inner`: the node stands
  /// in a subgraph, whose names are not the graph's.
  OnnxSite(OnnxGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool inner = false);

  /// Imports the node: every attribute is read, every output that something reads is given.
  Status import();

  const std::string& name() const { return name_; }
  std::int64_t opset() const { return scope_.opset; }
  /// "name: sentence"
  Error error(const std::string& sentence) const { return Error{name_ + ": " + sentence}; }

  // ---- Inputs. One that is left out (or trails) is not there.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  ValueId in(std::size_t i) const;
  const TensorType& type(ValueId id) const { return graph_.graph.value(id).type; }
  const Shape& shape(std::size_t i) const { return type(in(i)).shape; }
  DType dtype(std::size_t i) const { return type(in(i)).dtype; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  /// At least `low` inputs, all of the first `low` given, and at most `high`.
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  /// The value of input `i` where it is known, else null.
  const Tensor* constant(std::size_t i) const;
  /// The value of input `i`, called `what` in the error when it is not known.
  Result<Tensor> known(std::size_t i, const std::string& what);
  /// The same as a list of integers (a scalar is a list of one).
  Result<std::vector<std::int64_t>> known_integers(std::size_t i, const std::string& what);
  /// The same as one number.
  Result<double> known_number(std::size_t i, const std::string& what);

  /// The values of input `i`, which must be a sequence.
  Result<std::vector<ValueId>> sequence(std::size_t i) const;

  // ---- Attributes: the value, or `fallback`; errors when it is of another kind. Those never asked for are an error.
  bool has_attribute(std::string_view attribute) const;
  Result<std::int64_t> integer(std::string_view attribute, std::int64_t fallback);
  Result<bool> flag(std::string_view attribute, bool fallback);
  Result<double> number(std::string_view attribute, double fallback);
  Result<std::string> text(std::string_view attribute, const std::string& fallback);
  Result<std::vector<std::int64_t>> integers(std::string_view attribute, std::vector<std::int64_t> fallback);
  Result<std::vector<std::string>> texts(std::string_view attribute, std::vector<std::string> fallback);
  Result<std::vector<double>> numbers(std::string_view attribute, std::vector<double> fallback);
  Result<std::optional<Tensor>> tensor(std::string_view attribute);
  Result<std::shared_ptr<const OnnxSubgraph>> subgraph(std::string_view attribute);
  /// The position of the attribute's text in `choices`.
  Result<std::size_t> choice(std::string_view attribute, std::string_view fallback,
                             const std::vector<std::string_view>& choices);
  /// `count` entries, each in low .. kMaxElements; `fallback` for each where the attribute is absent.
  Result<std::vector<std::int64_t>> entries(std::string_view attribute, std::size_t count, std::int64_t fallback,
                                            std::int64_t low);
  /// Attributes that are allowed and mean nothing for inference.
  void ignore(std::initializer_list<std::string_view> attributes);
  /// A required attribute is there.
  Status expect_attribute(std::string_view attribute) const;
  /// `axis` counted from 0: negative ones count from the end. Valid: -rank .. rank-1 (`limit` rank), or to rank.
  Result<std::int64_t> resolve_axis(std::int64_t axis, std::size_t limit) const;
  /// The same for a list, sorted; each once.
  Result<std::vector<std::int64_t>> resolve_axes(std::vector<std::int64_t> axes, std::size_t rank) const;

  // ---- Results.
  std::size_t output_count() const { return node_.outputs.size(); }
  bool wants_output(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  /// A step on the way, called "name/part".
  Result<ValueId> add(const std::string& part, const Operator&, std::vector<ValueId> inputs);
  ValueId add_constant(const std::string& part, Tensor);
  ValueId add_scalar(const std::string& part, DType, double value);
  /// `x` as `dtype`; itself where it is.
  Result<ValueId> cast(const std::string& part, ValueId x, DType dtype);
  /// The node's output `i`: the result of an operator, a value that is there already, or a constant.
  Status give(const Operator&, std::vector<ValueId> inputs, std::size_t i = 0);
  Status give(ValueId, std::size_t i = 0);
  Status give_constant(Tensor, std::size_t i = 0);
  /// A sequence of values of one type of element.
  Status give_sequence(DType, std::vector<ValueId>, std::size_t i = 0);
  /// What was given as output `i`.
  ValueId given(std::size_t i) const { return graph_.find(node_.outputs[i]); }

  /// Imports a subgraph where the node stands, its inputs being `inputs`, and gives its outputs.
  Result<std::vector<ValueId>> inlined(const OnnxSubgraph&, const std::vector<ValueId>& inputs);
  std::optional<Tensor> value_of(ValueId id) const { return graph_.graph.value(id).constant; }
  bool is_sequence(ValueId id) const { return graph_.sequence(id) != nullptr; }

 private:
  /// After the importer: every attribute was read, every output that something reads was given.
  Status finish() const;
  Status import_standard();
  /// The body of a function in place of the node.
  Status call(const OnnxFunction&);
  Result<OnnxScope> scope_of(const OnnxFunction&);
  /// Imports the nodes of a body, whose names hide those around it. An output that nothing defines is invalid.
  Result<std::vector<ValueId>> import_body(const OnnxSubgraph&, const std::vector<ValueId>& inputs, const OnnxScope&);
  Status import_inner(const OnnxNode&, const std::string& name, const OnnxScope&);
  Status expect_tensors() const;
  const OnnxAttribute* find(std::string_view attribute);
  /// The attribute, what it refers to, or null where the call leaves that out.
  const OnnxAttribute* resolved(const OnnxAttribute&) const;
  Error wrong_kind(const OnnxAttribute&, const char* expected) const;

  OnnxGraph& graph_;
  const OnnxNode& node_;
  std::string name_;
  const OnnxScope& scope_;
  std::vector<ValueId> inputs_;
  std::vector<bool> attribute_read_;
  bool inner_;
};

}  // namespace whet
