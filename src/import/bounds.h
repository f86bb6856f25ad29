#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

/// What is known while importing of small values that are computed from numbers of results: how large sizes may become.
namespace whet {

/// Each element of a value lies between those of `low` and `high`, which have its type. A known value has equal bounds.
struct Bounds {
  Tensor low, high;

  bool is_known() const;
};

/// The bounds of an operator's result. None where sizes are not computed so, or where they would be far beyond sizes.
std::optional<Bounds> bounds_of(const Operator&, const std::vector<Bounds>& operands, const TensorType& result);

}  // namespace whet
