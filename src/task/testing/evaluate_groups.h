#pragma once

#include <vector>

#include "base/result.h"
#include "passes/fuse.h"

namespace whet::testing {

/// Runs the groups' dags in order, as a compiled model would, and gives the graph's outputs.
Result<std::vector<Tensor>> evaluate_groups(const FusedGraph&, const std::vector<Tensor>& inputs);

}  // namespace whet::testing
