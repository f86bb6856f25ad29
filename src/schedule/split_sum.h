#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// split_sum — a reduction becomes one of parts and one of the parts' results (compute/split_sum.h).
///   for m, n { for k in K { S(C[m, n] += X) } }   split_sum(S, k, p)  =>
///   for i in p, m, n { for k in K/p { P[i, m, n] += X } }  for m, n { for i in p { C[m, n] += P[i, m, n] } }
/// Where a result has too few elements for all blocks of a GPU, the parts are more of them. The second nest is a launch of its
/// own, in which readers of the op can be computed.
///   op      an op that reduces
///   axis    one of its reduce axes, counted from the first spatial one
///   parts   2 .. extent / kLeastPart
///   yields  the parts get the id of `op`; `op` and the ops behind it move up by one, and all loops are those of the new
///           DAG
///   errors  those of compute/split_sum.h; anything was scheduled before but steps that change the DAG
struct SplitSum {
  OpId op;
  std::int64_t axis;
  std::int64_t parts;
};
Status apply(LoopTree&, const SplitSum&);

}  // namespace whet
