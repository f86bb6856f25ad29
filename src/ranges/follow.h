#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// A network of a file with a fixed dimension, read with another extent there.
struct FollowedGraph {
  const Graph& graph;
  std::int64_t extent;
};

/// Checks that the network computes the same for each place of a dimension that its file has fixed, however many there are: what a node
/// makes of values along the dimension lies along it in the same order, nothing is computed across it, constants are the same for each
/// place, and each output has it. `size` names the dimension in messages. The two extents differ, and are larger than 1.
/// Errors: the node that does not follow, with what it gives.
Status check_follows(const std::string& size, const FollowedGraph&, const FollowedGraph&);

}  // namespace whet
