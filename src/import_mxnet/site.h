#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/call.h"
#include "import/define.h"
#include "import_mxnet/symbol.h"

namespace whet::mxnet {

using OpenInts = std::vector<std::optional<std::int64_t>>;  ///< an entry that is "None" is none

/// The site of an operator of MXNet: attributes are texts, by their names. One that is "None" or an empty list is left out. Those
/// that the row does not name are not looked at: files have many that mean nothing for inference.
class MxSite : public CallSite {
 public:
  /// All inputs are defined.
  MxSite(GrowingGraph& graph, const MxNode& node, ValueIds inputs, Texts outputs)
      : CallSite(graph, node.name + " (" + node.op + ")", node.op, std::move(inputs), std::move(outputs), false),
        node_(node) {}

  Status import();

  /// The attribute as it is written; "" where it is absent.
  std::string written(std::string_view name) const;

  // ---- See CallSite. A list is "(3, 3)", "[1,2]" or one number.
  bool has_attribute(std::string_view name) const override;
  Result<bool> flag(std::string_view name, bool fallback) const override;
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const override;
  Result<double> number(std::string_view name, double fallback) const override;
  Result<std::string> text(std::string_view name, std::string fallback) const override;
  Result<Ints> integers(std::string_view name, Ints fallback) const override;
  Result<Numbers> numbers(std::string_view name, Numbers fallback) const override;

  template <typename T>
  Result<T> parameter(std::size_t i) {
    if constexpr (std::is_same_v<T, DType>)
      return type_called(words_.at(i).name, words_.at(i).usual_text());
    else if constexpr (std::is_same_v<T, OpenInts>)
      return open_integers(words_.at(i).name);
    else
      return CallSite::parameter<T>(i);
  }

 private:
  Status import_row();
  AttributeNumbers attribute_numbers() const;
  Result<DType> type_called(std::string_view name, std::string fallback) const;
  Result<OpenInts> open_integers(std::string_view name) const;
  Error wrong(std::string_view name, const char* expected) const;
  template <typename T>
  Result<T> checked(std::string_view name, const std::optional<T>& value, const char* expected) const;

  const MxNode& node_;
};

/// The integers of "(1, 3, 224, 224)"; none where it is something else. "None" is -1.
std::optional<Ints> shape_in(const std::string& text);

}  // namespace whet::mxnet
