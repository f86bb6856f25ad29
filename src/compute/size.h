#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/expr.h"

namespace whet {

/// An integer that is known when a kernel starts: min, min + step, ..., max.
struct SizeRange {
  std::string name;
  std::int64_t min = 1, max = 1, step = 1;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};
using SizeValues = std::vector<std::int64_t>;  ///< one a size

/// How many values it has.
std::int64_t count_of(const SizeRange&);
/// The narrowest range that has all of these values, at least one.
SizeRange range_of(std::string name, const std::vector<std::int64_t>& values);

/// All values of the sizes with low[k] <= value[k] <= high[k].
struct SizeBox {
  SizeValues low, high;
  friend bool operator==(const SizeBox&, const SizeBox&) = default;
};
bool contains(const SizeBox&, const SizeValues&);
/// The sizes with the values alone that the box has.
std::vector<SizeRange> ranges_in(const std::vector<SizeRange>&, const SizeBox&);

/// A task has at most three sizes, a model at most four.
constexpr std::size_t kMostSizes = 4;
/// No size is larger: products of two sizes are far from overflow.
constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

/// The variable of size `k` in expressions of sizes. Reserved: no axis, loop or let has it, and kLane is above it.
constexpr VarId size_var(std::size_t k) { return VarId(-3 - static_cast<std::int64_t>(k)); }
/// The number of the size whose variable this is; kMostSizes and above for any other variable.
constexpr std::size_t size_number(VarId id) {
  return id.value <= -3 ? static_cast<std::size_t>(-3 - id.value) : kMostSizes;
}
/// The variable of a size as an expression. `name` is for printing.
Expr size_expr(std::size_t k, std::string name);

/// Whether the variable of a size occurs in it.
bool has_size(const Expr&);
/// The numbers of the sizes that occur in it, ascending.
std::vector<std::size_t> sizes_of(const Expr&);
/// Whether `e` has no variables but sizes, no loads, and at least one size.
bool is_of_sizes(const Expr& e);
/// The value of an i64 expression of sizes and constants. Each size that occurs has a value; nothing is divided by 0.
std::int64_t value_at(const Expr&, const SizeValues&);
/// All values of an i64 expression of sizes and constants, ascending, each once. Nothing where the sizes that occur in it have more
/// than `most` combinations.
std::optional<std::vector<std::int64_t>> all_values(const Expr&, const std::vector<SizeRange>&, std::int64_t most);
/// The value of a float expression of sizes and constants: each operation rounds to its dtype, as a kernel does it.
double float_at(const Expr&, const SizeValues&);
/// `e` with its largest parts of sizes and constants replaced by their values. Nothing else is folded.
Expr expr_at(const Expr& e, const SizeValues&);

/// Checks that each size has a name of its own and a range: 1 <= min <= max, and max is min + k * step.
Status verify(const std::vector<SizeRange>&);
/// Checks that `values` has one value a size, each of its range.
Status check_values(const std::vector<SizeRange>&, const SizeValues& values);
/// Checks that `e` consists of operations that a size may have: constants, the first `sizes` sizes, +, -, *, min, max, floordiv
/// and floormod by positive constants; of floats also / and casts of integers.
Status check_size_expr(const Expr& e, std::size_t sizes);

/// "2..512", "32..320:32"; of one value "7".
std::string to_text(const SizeRange&);

}  // namespace whet
