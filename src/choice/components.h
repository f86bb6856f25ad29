#pragma once

#include <vector>

namespace whet {

/// The strongly connected components of a graph, by a number for each node: a component's number is greater than those of all
/// components that it has edges to. `edges[i]` are the nodes that node i has edges to.
std::vector<int> strong_components(const std::vector<std::vector<int>>& edges);

}  // namespace whet
