#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "compute/lexer.h"

namespace whet {

/// A definition in the notation (docs/formats/dag.md) whose placeholders may have names among their extents: sizes that the shapes of
/// its inputs decide, whether a SIZE line has them or not.
class SizedText {
 public:
  struct Input {
    std::string name;
    bool is_scalar = false;            ///< it has no extents
    std::vector<std::string> extents;  ///< names; "" for numbers and functions of sizes
  };

  /// A byte order mark in front is left out.
  explicit SizedText(std::string_view text);

  /// Whether its lines have words; what is wrong with one of others parse_dag tells.
  bool is_readable() const { return readable_; }
  /// The placeholders, in their order.
  const std::vector<Input>& inputs() const { return inputs_; }
  /// The names that no SIZE line has, each once.
  std::set<std::string> undeclared() const;

  /// Names of input `input` take the extents of its shape, of as many dimensions. An error: "N is 4, and 8 in b; a size has one value".
  Status bind(std::size_t input, const Shape& shape);
  /// The value that a name has; null: none yet.
  const std::int64_t* value(const std::string& name) const;
  void set(const std::string& name, std::int64_t value) { values_.emplace(name, value); }
  /// The text with numbers in place of the names that have a value and that no SIZE line has.
  std::string numbers() const;
  /// The values of a read text's SIZE lines: those that are bound, else the text's own. An error: a value that its range does not have.
  Result<SizeValues> sizes(const ComputeDag& read) const;

 private:
  struct Line {
    std::string text;
    std::vector<DagToken> tokens;
  };
  std::vector<Line> lines_;
  bool readable_ = true;
  std::vector<Input> inputs_;
  std::set<std::string> declared_;  ///< by SIZE lines
  std::map<std::string, std::int64_t> values_;
};

}  // namespace whet
