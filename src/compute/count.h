#pragma once

#include "compute/dag.h"

namespace whet {

/// `flops` and `bytes` (compute/dag.h) as functions of the DAG's sizes, of i64: at each of them what the DAG of that size has, rounded
/// down.
Expr flops_of_sizes(const ComputeDag&);
Expr bytes_of_sizes(const ComputeDag&);

}  // namespace whet
