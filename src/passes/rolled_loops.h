#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// A concatenation of what equal elementwise operators compute of neighbouring slices of the same values becomes these
/// operators on the values themselves:
///   concat(tanh(slice(x, 0)), tanh(slice(x, 1)), ...)   =>   tanh(x)
/// Loops that were unrolled are such concatenations, where no round reads what another one computes. Parts that
/// something else reads, or fewer than kFewestRounds, stay.
Result<Graph> roll_loops(const Graph&);

constexpr std::size_t kFewestRounds = 8;

}  // namespace whet
