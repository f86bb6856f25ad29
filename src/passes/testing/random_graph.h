#pragma once

#include "passes/testing/graph_builder.h"

namespace whet::testing {

/// A small random graph over most operators; the same for the same seed. Its values stay in a moderate range and its
/// operators are continuous, so that two ways of computing it agree up to rounding.
Graph random_graph(std::uint64_t seed);

/// Random tensors for the inputs.
std::vector<Tensor> random_inputs(const Graph&, std::uint64_t seed);

}  // namespace whet::testing
