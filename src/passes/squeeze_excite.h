#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// The nodes of each squeeze-and-excite in the graph, in topological order: the mean of each channel over a picture,
/// two products of it with constant matrices (1x1 convolutions of one pixel, or dense layers), each with bias and
/// activation, which give one factor a channel. The multiplication by the factors is left to others.
/// Found by structure: between its nodes a value has no reader outside.
std::vector<std::vector<NodeId>> find_squeeze_excites(const Graph&);

}  // namespace whet
