#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

namespace whet {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The quotient of numbers that are not negative, rounded up.
template <std::integral T>
constexpr T ceil_div(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit;
}

/// The least multiple of `unit` that is not below `n`; neither is negative.
template <std::integral T>
constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return ceil_div(n, unit) * unit;
}

}  // namespace whet
