#pragma once

#include "compute/size.h"
#include "graph/graph.h"

namespace whet::testing {

/// A random graph of pictures [1, C, n, m], and of tokens that are made of them, whose operators are the same at all sizes; the same for
/// the same seed. It is legal at n, m >= `kLeastSize`.
/// Errors: sizes at which an operator is not legal.
Result<Graph> random_sized_graph(std::uint64_t seed, const SizeValues& sizes);
constexpr std::int64_t kLeastSize = 8;

}  // namespace whet::testing
