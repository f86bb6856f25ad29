#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Gives the outputs of `graph` the names of those of `original`. An output that is now an input, a constant or another
/// output gets a reshape to its own shape, which is an alias.
Result<Graph> keep_output_names(Graph graph, const Graph& original);

}  // namespace whet
