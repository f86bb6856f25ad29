#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/shape.h"

/// What a file of torch.export says about sizes of its inputs, without which its program is not right: torch has computed some
/// sizes with those of the example, and wrote down where they are the same.
namespace whet::torch {

using ShapesByName = std::map<std::string, Shape>;

/// A condition in Python: "math.trunc(0.5*torch.sym_float(L['x'].size()[1])) == 5".
class Guard {
 public:
  /// None: it is no condition that whet reads.
  static std::optional<Guard> parse(std::string_view code);

  /// Whether it holds at these shapes of inputs. None: it reads something else, or computes numbers that are none.
  std::optional<bool> holds(const ShapesByName&) const;
  /// The condition for users: "math.trunc(0.5*float(x.size(1))) == 5".
  const std::string& text() const { return text_; }

  struct Read {
    std::string input;
    std::size_t dimension;
    friend bool operator==(const Read&, const Read&) = default;
  };
  /// The sizes that it reads, each once.
  const std::vector<Read>& reads() const { return reads_; }

 private:
  friend class GuardParser;
  enum class Op : std::uint8_t {
    number,
    size,
    stride,
    negated,
    sum,
    difference,
    product,
    quotient,
    floored_quotient,
    remainder,
    power,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    both,
    either,
    opposite,
    least,
    most,
    truncated,
    floored,
    ceiled,
    rounded,
    root,
    magnitude,
    as_float,
    chosen
  };
  struct Node {
    Op op;
    std::vector<std::size_t> operands;  ///< nodes before it
    double number = 0;
    Read read = {};
  };
  std::optional<double> value(const Node&, const std::vector<double>& operands, const ShapesByName&) const;

  std::vector<Node> nodes_;  ///< the last one is the condition
  std::vector<Read> reads_;
  std::string text_;
};

/// An error that names the sizes at fault and those that would be right, where a guard does not hold.
Status check_guards(const std::vector<Guard>&, const ShapesByName&);

}  // namespace whet::torch
