#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/size.h"

namespace whet {

/// Finds the functions of sizes that give numbers at all of some points. Forms of integers, the simplest first:
///   a·s + a'·s' + b           sums over the sizes
///   ⌊(a·s + b) / c⌋           c in 2..64
///   c·f + b, c·f·g + b, f + c·g + b, min(f, c), max(f, c)   of functions f, g that were found before, sizes among them
/// of floats: c·f, c/f, c·f/g, each operation rounded to the dtype, right to one unit in the last place.
/// A function is right at all points that it was made from, or it is not given.
class Fitter {
 public:
  ///   names   of the sizes, for printing
  ///   points  at least one; one value a size each
  Fitter(const std::vector<std::string>& names, std::vector<SizeValues> points);

  /// The function whose values at the points these are. Undefined: none of the first two forms.
  Expr simple(const std::vector<std::int64_t>& values);
  /// The same of all forms, with the functions that `simple` found.
  Expr composed(const std::vector<std::int64_t>& values);
  /// Of floats of `dtype`.
  Expr floats(DType dtype, const std::vector<double>& values);

 private:
  struct Known {
    Expr function;
    std::vector<std::int64_t> values;
  };
  /// Two points that differ in one size alone, as far apart as any.
  struct Pair {
    std::size_t low, high;
  };

  const Known* known(const std::vector<std::int64_t>& values) const;
  Expr remember(Expr function, const std::vector<std::int64_t>& values);
  Expr affine(const std::vector<std::int64_t>& values) const;
  Expr quotient(const std::vector<std::int64_t>& values) const;
  Expr of_one(const std::vector<std::int64_t>& values) const;
  Expr of_two(const std::vector<std::int64_t>& values) const;
  Expr clamped(const std::vector<std::int64_t>& values) const;
  Expr floats(DType dtype, const std::vector<double>& values, bool exactly) const;

  std::vector<Expr> sizes_;
  std::vector<SizeValues> points_;
  std::vector<std::optional<Pair>> pairs_;  ///< one a size
  std::vector<Known> known_;
};

/// Whether two floats of a dtype are equal up to one unit in the last place.
bool close(DType dtype, double a, double b);

}  // namespace whet
