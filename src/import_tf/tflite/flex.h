#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// FlexBuffers, in which custom operators keep their options: maps without a schema.
namespace whet::tflite {

/// The values of a map by their names. Values of other kinds (maps, lists of lists) are left out.
class FlexMap {
 public:
  /// Reads the map that `bytes` hold; nothing where they hold none, lead outside of themselves, or lead to
  /// more than 65,536 numbers and letters.
  static std::optional<FlexMap> read(std::string_view bytes);

  bool has(const std::string& name) const { return values_.contains(name); }
  /// A number or a truth value; nothing where it is absent or of another kind.
  std::optional<double> number(const std::string& name) const;
  /// A list of numbers.
  std::optional<std::vector<double>> numbers(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  /// All numbers and lists of numbers, by their names.
  std::map<std::string, std::vector<double>> all_numbers() const;

 private:
  struct Value {
    bool is_list = false;
    std::vector<double> numbers;
    std::optional<std::string> text;
  };
  friend class FlexReader;
  std::map<std::string, Value> values_;
};

}  // namespace whet::tflite
