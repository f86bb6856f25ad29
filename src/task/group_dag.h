#pragma once

#include "base/result.h"
#include "compute/dag.h"
#include "passes/fuse.h"

namespace whet {

/// What a group computes: placeholder k stands for group.inputs[k] (constant where the value is one), output k for
/// group.outputs[k], with as many elements; a group of one transpose has fewer dimensions (`essential`). One-element
/// constants that only elementwise operators read are literals in the expressions; the scales of bytes are not (`is_literal`).
Result<ComputeDag> group_dag(const FusedGraph&, const Group&);

}  // namespace whet
