#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "problem.h"

namespace whet {

/// The problem as a model would have it: weights constant, bias and relu after convolutions and dense layers, the
/// activations stored channels last already.
Result<Graph> graph_of(const bench::Problem&);

}  // namespace whet
