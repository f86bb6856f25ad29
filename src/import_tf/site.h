#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/call.h"
#include "import/define.h"
#include "import_tf/graph.h"
#include "import_tf/inline.h"

namespace whet::tensorflow {

/// The bodies of branches and loops, inlined when they are first asked for.
class Bodies {
 public:
  explicit Bodies(std::map<std::string, TfFunction> functions) { graph_.functions = std::move(functions); }
  Result<std::shared_ptr<const TfProgram>> body(const std::string& function);

 private:
  TfGraph graph_;
  std::map<std::string, std::shared_ptr<const TfProgram>> known_;
};

/// The site of a node of TensorFlow, whose attributes have types.
class TfSite : public CallSite {
 public:
  TfSite(GrowingGraph& graph, const TfNode& node, std::string label, Texts outputs, Bodies& bodies,
         bool is_inner = false);

  Status import();

  // ---- Attributes: see CallSite. Those that the row does not name mean nothing.
  bool has_attribute(std::string_view name) const override { return find(name) != nullptr; }
  Result<bool> flag(std::string_view name, bool fallback) const override {
    return attribute(name, fallback, "true or false");
  }
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const override {
    return attribute(name, fallback, "an integer");
  }
  Result<double> number(std::string_view name, double fallback) const override {
    return attribute(name, fallback, "a number");
  }
  Result<std::string> text(std::string_view name, std::string fallback) const override {
    return attribute(name, std::move(fallback), "a text");
  }
  Result<Ints> integers(std::string_view name, Ints fallback) const override {
    return entry(attribute(name, TfList{.integers = std::move(fallback)}, "a list"), &TfList::integers);
  }
  Result<Numbers> numbers(std::string_view name, Numbers fallback) const override {
    return entry(attribute(name, TfList{.numbers = std::move(fallback)}, "a list"), &TfList::numbers);
  }
  Result<Texts> texts(std::string_view name, Texts fallback) const override {
    return entry(attribute(name, TfList{.texts = std::move(fallback)}, "a list"), &TfList::texts);
  }
  Result<Tensor> tensor(std::string_view name) const override;

  /// A type, whose usual value is a name of whet's; a function; a list of any kind; whatever a constant is.
  template <typename T>
  Result<T> parameter(std::size_t word) {
    if constexpr (std::is_same_v<T, DType>)
      return type_of(words_.at(word));
    else if constexpr (std::is_same_v<T, TfFunctionName>)
      return attribute(words_.at(word).name, T(), "a function");
    else if constexpr (std::is_same_v<T, TfList>)
      return attribute(words_.at(word).name, T(), "a list");
    else if constexpr (std::is_same_v<T, TfTensor>)
      return attribute(words_.at(word).name, T(), "a tensor");
    else
      return CallSite::parameter<T>(word);
  }

  /// Result `i` is of a branch that is not taken.
  void give_absent(std::size_t i) { graph_.define(outputs_[i], graph_.add_absent(outputs_[i])); }
  /// Imports a function where the node is, its arguments being `inputs`, and gives its results.
  virtual Result<ValueIds> inlined(const TfFunctionName& function, const ValueIds& inputs);

 protected:
  /// A node that a file of another format has, whose attributes alone count.
  TfSite(GrowingGraph& graph, const TfNode& attributes, std::string op, ValueIds inputs, std::string label,
         Texts outputs, Bodies& bodies, bool is_inner);
  /// Those that something reads are given.
  Status expect_results() const;
  /// The `results` of a body that `import_nodes` imports where the node is: names that it reads and defines are its own.
  Result<ValueIds> in_body(const Texts& names, const ValueIds& inputs, const Texts& results,
                           const std::function<Status()>& import_nodes);

 private:
  AttributeNumbers attribute_numbers() const;
  const TfAttribute* find(std::string_view name) const;
  template <typename Kind>
  Result<Kind> attribute(std::string_view name, Kind fallback, const char* expected) const {
    const TfAttribute* found = find(name);
    if (found == nullptr) return fallback;
    const auto* value = std::get_if<Kind>(found);
    if (value != nullptr) return *value;
    return error("attribute \"" + std::string(name) + "\" is not " + expected);
  }
  template <typename Values>
  static Result<Values> entry(Result<TfList> list, Values TfList::* kind) {
    return list.ok() ? Result<Values>(std::move(*list.*kind)) : list.error();
  }
  Result<DType> type_of(const Word&) const;
  Status check_shapes();
  /// Whether an operand, or what the node waits for, is of a branch of TensorFlow 1 that is not taken; so are then the results.
  bool reads_absent() const;
  Status give_all_absent();

  const TfNode& node_;
  Bodies& bodies_;
};

/// What a node is called in messages: "block/conv (Conv2D)".
std::string label_of(const TfNode&);

}  // namespace whet::tensorflow
