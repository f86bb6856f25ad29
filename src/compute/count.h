#pragma once

#include "compute/dag.h"

namespace whet {

/// `flops` and `bytes` (compute/dag.h) as functions of the DAG's sizes, of i64: at each of them what the DAG of that size has, rounded
/// down.
Expr flops_of_sizes(const ComputeDag&);
Expr bytes_of_sizes(const ComputeDag&);

/// How many elements of the op the others read at most: of a table, as many as a gather takes.
std::int64_t elements_read(const ComputeDag&, OpId);

}  // namespace whet
