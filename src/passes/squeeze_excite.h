#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// The nodes of each squeeze-and-excite in the graph, in topological order: the mean of each channel over a picture,
/// and two products of it with constant matrices (1x1 convolutions of one pixel, or dense layers), each with bias and
/// activation. They give one factor for each channel. The multiplication by the factors is not among them.
/// A squeeze-and-excite is found by structure: no value between its nodes has a reader outside.
std::vector<std::vector<NodeId>> find_squeeze_excites(const Graph&);

}  // namespace whet
