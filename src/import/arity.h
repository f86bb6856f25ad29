#pragma once

#include <cstddef>

namespace whet {

/// How many operands an operator takes, as its row says.
struct Arity {
  constexpr Arity(int count) : Arity(count, count) {}
  constexpr Arity(int least, int most) : least(static_cast<std::size_t>(least)), most(static_cast<std::size_t>(most)) {}

  std::size_t least, most;
};
constexpr Arity kAnyArity{0, 65536};

}  // namespace whet
