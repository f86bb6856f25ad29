#pragma once

#include "compute/dag.h"

namespace whet {

/// Checks that each load reads inside of its tensor, wherever the axes are: a choice may guard it. The error names the op, the tensor
/// and the index. Sound: what it cannot prove is refused. A DAG without sizes.
Status check_loads_inside(const ComputeDag&);

}  // namespace whet
