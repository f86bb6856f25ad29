#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/call.h"
#include "import/onnx/reader.h"
#include "import/site.h"

namespace whet {

struct OnnxRow;

/// Where nodes are: in the model itself, or in the body of a function that a node calls.
struct OnnxScope {
  const OnnxModel& model;
  std::int64_t opset;                      ///< of the standard's operators here
  const OnnxFunction* function = nullptr;  ///< null in the model itself
  const OnnxScope* caller = nullptr;
  std::map<std::string, const OnnxAttribute*> attributes;  ///< that the call gives, or the function's defaults
};

/// The site of an ONNX node: its operands and attributes by the words of its row (call.h), or by places and names. Results and steps: see
/// NodeSite.
class OnnxSite : public NodeSite {
 public:
  /// `name`: the node's, or its operator and position ("Conv_12"). All its inputs are defined. `is_inner`: the node is
  /// in a subgraph, whose names are not the graph's.
  OnnxSite(GrowingGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool is_inner = false);

  /// Imports the node: every attribute is read, every output that something reads is given.
  Status import();

  std::int64_t opset() const { return scope_.opset; }
  const GrowingGraph& graph() const { return graph_; }
  /// Before what is done again for each element: see GrowingGraph.
  Status count_inlined() { return graph_.count_inlined(name_); }
  /// The results are of a type that is held in a wider one; 0: they are not.
  void mark_held_result(std::int64_t type);

  // ---- Inputs. One that is left out (or trails) is not there.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  ValueId in(std::size_t i) const;
  /// Input `i`, or none where it is left out.
  std::optional<ValueId> if_given(std::size_t i) const { return has(i) ? std::optional(in(i)) : std::nullopt; }
  using NodeSite::constant, NodeSite::dtype, NodeSite::type, NodeSite::known, NodeSite::known_integers,
      NodeSite::known_number, NodeSite::known_numbers, NodeSite::rank, NodeSite::shape;
  const Shape& shape(std::size_t i) const { return type(in(i)).shape; }
  DType dtype(std::size_t i) const { return type(in(i)).dtype; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  /// At least `low` inputs, all of the first `low` given, and at most `high`.
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  const Tensor* constant(std::size_t i) const { return constant(in(i)); }
  Result<Tensor> known(std::size_t i, const std::string& what) { return known(in(i), what); }
  Result<std::vector<std::int64_t>> known_integers(std::size_t i, const std::string& what) {
    return known_integers(in(i), what);
  }
  Result<std::int64_t> known_integer(std::size_t i, const std::string& what);
  Result<double> known_number(std::size_t i, const std::string& what) { return known_number(in(i), what); }
  Result<std::vector<double>> known_numbers(std::size_t i, const std::string& what) {
    return known_numbers(in(i), what);
  }
  /// The operand that the row names so.
  ValueId operand(std::string_view name) const;
  /// The values of input `i`, which must be a sequence.
  Result<std::vector<ValueId>> sequence(std::size_t i) const;

  // ---- Attributes: the value, or `fallback`; errors when it is of another kind. Those that the row does not name are an error.
  bool has_attribute(std::string_view attribute) const { return find(attribute) != nullptr; }
  Result<std::int64_t> integer(std::string_view attribute, std::int64_t fallback) const;
  Result<bool> flag(std::string_view attribute, bool fallback) const;
  Result<double> number(std::string_view attribute, double fallback) const;
  Result<std::string> text(std::string_view attribute, const std::string& fallback) const;
  Result<std::vector<std::int64_t>> integers(std::string_view attribute, std::vector<std::int64_t> fallback) const;
  /// The place of the attribute's text in `choices`.
  Result<std::int64_t> choice(std::string_view attribute, const std::string& fallback,
                              const std::vector<std::string_view>& choices) const;
  /// The type that an attribute names by the standard's number.
  Result<DType> type(std::string_view attribute, DType fallback) const;
  /// `count` entries, each in low .. kMaxElements; `fallback` for each where the attribute is absent.
  Result<std::vector<std::int64_t>> entries(std::string_view attribute, std::size_t count, std::int64_t fallback,
                                            std::int64_t low) const;

  // ---- Words of the row as parameters.
  Status read(std::size_t word, ValueId&);
  Status read(std::size_t word, std::int64_t&);
  Status read(std::size_t word, double&);
  Status read(std::size_t word, bool&);
  Status read(std::size_t word, std::string&);
  Status read(std::size_t word, std::vector<std::int64_t>&);
  Status read(std::size_t word, std::vector<double>&);
  Status read(std::size_t word, std::vector<std::string>&);
  Status read(std::size_t word, std::vector<Size>&);
  Status read(std::size_t word, Tensor&);
  Status read(std::size_t word, std::shared_ptr<const OnnxSubgraph>&);
  /// All operands that are left, or those of a sequence.
  Status read(std::size_t word, std::vector<ValueId>&);
  template <typename T>
  Status read(std::size_t word, std::optional<T>& value) {
    return is_given(words_.at(word)) ? read(word, value.emplace()) : ok_status();
  }
  /// A choice.
  template <typename T>
    requires std::is_enum_v<T>
  Status read(std::size_t word, T& value) {
    std::int64_t place = 0;
    WHET_RETURN_IF_ERROR(read(word, place));
    value = static_cast<T>(place);
    return ok_status();
  }

  /// Imports a subgraph where the node is, its inputs being `inputs`, and gives its outputs.
  Result<std::vector<ValueId>> inlined(const OnnxSubgraph&, const std::vector<ValueId>& inputs);

 private:
  /// The operands and attributes are those that the row names.
  Status bind(const OnnxRow&);
  Status expect_known_attributes() const;
  /// After the importer: every output that something reads was given.
  Status finish() const;
  Status import_standard();
  /// An operator on values of a type that is held in a wider one: what leaves the range of the type wraps.
  Status import_held(const OnnxRow&, std::int64_t type);
  /// The body of a function in place of the node.
  Status call(const OnnxFunction&);
  Result<OnnxScope> scope_of(const OnnxFunction&);
  /// Imports the nodes of a body, whose names hide those around it. An output that nothing defines is invalid.
  Result<std::vector<ValueId>> import_body(const OnnxSubgraph&, const std::vector<ValueId>& inputs, const OnnxScope&);
  Status import_inner(const OnnxNode&, const std::string& name, const OnnxScope&);
  /// What input `i` is in messages, which is no tensor.
  std::string kind_of_list(std::size_t i) const;
  bool is_given(const Word&) const;
  /// The attribute as a function's body has it from the call, or null.
  const OnnxAttribute* find(std::string_view attribute) const;
  /// The attribute, what it refers to, or null where the call leaves that out.
  const OnnxAttribute* resolved(const OnnxAttribute&) const;
  Error unknown(const OnnxAttribute&) const;
  /// The attribute of kind T, or `fallback`.
  template <typename T>
  Result<T> attribute(std::string_view name, T fallback, const char* expected) const;

  const OnnxNode& node_;
  const OnnxScope& scope_;
  std::vector<ValueId> inputs_;
  std::vector<Word> words_;  ///< of the row; none where the node calls a function
};

}  // namespace whet
