#pragma once

#include <cstdint>
#include <optional>

#include "compute/expr.h"

namespace whet {

/// All integers x with min <= x <= max. A missing end is infinite. An empty interval has min > max.
struct Interval {
  using End = std::optional<std::int64_t>;
  End min, max;

  static Interval point(std::int64_t v) { return {v, v}; }
  /// The integers that a dtype holds: all of them for i64 and for floats.
  static Interval of(DType);

  bool is_point() const { return min && min == max; }
  bool inside(const Interval& outer) const;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The results contain x op y for each x and each y of the operands. An end that overflows is infinite.
Interval operator+(const Interval&, const Interval&);
Interval operator-(const Interval&);
Interval operator*(const Interval&, const Interval&);
Interval operator*(const Interval&, std::int64_t factor);
Interval floordiv(const Interval&, std::int64_t divisor);
Interval floormod(const Interval&, std::int64_t divisor);
Interval hull(const Interval&, const Interval&);  ///< contains both
/// Of the other operators, and of divisions by what is not one number, all integers.
Interval binary(BinaryOp, const Interval&, const Interval&);

Interval::End plus(Interval::End, Interval::End);
Interval::End times(Interval::End, std::int64_t factor);
// A missing end is an infinite upper (lower) one.
Interval::End tighter_upper(Interval::End, Interval::End);
Interval::End tighter_lower(Interval::End, Interval::End);
Interval::End looser_upper(Interval::End, Interval::End);
Interval::End looser_lower(Interval::End, Interval::End);

}  // namespace whet
