#pragma once

#include <numeric>

#include "graph/graph.h"

namespace whet {

/// Dimension `from` of `rank` moved to be dimension `to`.
inline TransposeOperator move_axis(std::size_t rank, std::size_t from, std::size_t to) {
  TransposeOperator op;
  op.perm.resize(rank);
  std::iota(op.perm.begin(), op.perm.end(), 0);
  op.perm.erase(op.perm.begin() + static_cast<std::ptrdiff_t>(from));
  op.perm.insert(op.perm.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return op;
}

}  // namespace whet
