#pragma once

#include "compute/dag.h"

namespace whet {

/// The DAG, which has no sizes, with families and roles at the ops that have none, told from the indices of their loads alone:
/// who writes an operator by hand leaves them out, and design spaces go by them.
///   a sum of products of two loads   matmul, where each axis is in both (batch), in one of them (row, out_channel) or reduced;
///                                    conv or depthwise, where an index y*s + r*d makes y a row, a column or a plane, and r a tap
///   one load with taps               pool
///   a choice of one load or a value  pad, whose axes have the roles that its reader gives them
/// Anything else stays as it is. What is written wins: an op that has a family or a role is left alone.
ComputeDag recognised(ComputeDag);

}  // namespace whet
