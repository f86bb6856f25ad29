#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/call.h"
#include "import/define.h"
#include "import/site.h"
#include "import_onnx/reader.h"

namespace whet {

struct OnnxRow;
using OnnxBody = std::shared_ptr<const OnnxSubgraph>;

/// Where nodes are: in the model itself, or in the body of a function that a node calls.
struct OnnxScope {
  const OnnxModel& model;
  std::int64_t opset;                      ///< of the standard's operators here
  const OnnxFunction* function = nullptr;  ///< null in the model itself
  const OnnxScope* caller = nullptr;
  std::map<std::string, const OnnxAttribute*> attributes;  ///< that the call gives, or the function's defaults
};

/// The site of an ONNX node, whose attributes have types.
class OnnxSite : public CallSite {
 public:
  /// `name`: the node's, or its operator and position ("Conv_12"). All its inputs are defined. `is_inner`: the node is
  /// in a subgraph, whose names are not the graph's.
  OnnxSite(GrowingGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool is_inner = false);

  /// Imports the node: every attribute is read, every output that something reads is given.
  Status import();

  std::int64_t opset() const { return scope_.opset; }
  /// Before what is done again for each element: see GrowingGraph.
  Status count_inlined() { return graph_.count_inlined(name_); }
  /// The results are of a type that is held in a wider one; 0: they are not.
  void mark_held_result(std::int64_t type);

  // ---- Attributes: see CallSite. Those that the row does not name are an error.
  bool has_attribute(std::string_view name) const override { return find(name) != nullptr; }
  Result<bool> flag(std::string_view name, bool fallback) const override;
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const override {
    return attribute(name, fallback, "an integer");
  }
  Result<double> number(std::string_view name, double fallback) const override {
    return attribute(name, fallback, "a number");
  }
  Result<std::string> text(std::string_view name, std::string fallback) const override {
    return attribute(name, fallback, "a text");
  }
  Result<Ints> integers(std::string_view name, Ints fallback) const override {
    return attribute(name, fallback, "a list of integers");
  }
  Result<Numbers> numbers(std::string_view name, Numbers fallback) const override {
    return attribute(name, fallback, "a list of numbers");
  }
  Result<Texts> texts(std::string_view name, Texts fallback) const override {
    return attribute(name, fallback, "a list of texts");
  }
  Result<Tensor> tensor(std::string_view name) const override { return attribute(name, Tensor(), "a tensor"); }
  /// The type that an attribute names by the standard's number.
  Result<DType> dtype_attribute(std::string_view name, DType fallback) const;

  template <typename T>
  Result<T> parameter(std::size_t word) {
    if constexpr (std::is_same_v<T, OnnxBody>)
      return attribute(words_.at(word).name, OnnxBody(), "a graph");
    else
      return CallSite::parameter<T>(word);
  }

  /// Imports a subgraph where the node is, its inputs being `inputs`, and gives its outputs.
  Result<std::vector<ValueId>> inlined(const OnnxSubgraph&, const std::vector<ValueId>& inputs);

 private:
  AttributeNumbers attribute_numbers() const;
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
  /// The attribute as a function's body has it from the call, or null.
  const OnnxAttribute* find(std::string_view attribute) const;
  /// The attribute, what it refers to, or null where the call leaves that out.
  const OnnxAttribute* resolved(const OnnxAttribute&) const;
  Error unknown(const OnnxAttribute&) const;
  Error wrong_kind(const OnnxAttribute&, const char* expected) const;
  /// The attribute of kind T, or `fallback`.
  template <typename T>
  Result<T> attribute(std::string_view name, const T& fallback, const char* expected) const {
    const OnnxAttribute* found = find(name);
    if (found == nullptr) return fallback;
    const auto* value = std::get_if<T>(&found->value);
    return value != nullptr ? Result<T>(*value) : wrong_kind(*found, expected);
  }

  const OnnxNode& node_;
  const OnnxScope& scope_;
};

}  // namespace whet
