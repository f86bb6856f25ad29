#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// reverse_compute_at — a consumer is computed under a loop of its producer, for the region that is finished there.
///   for i { for r { for j { T[i, j] += f } } }  for p { S(T[p]) }   reverse_compute_at(S, i)  =>
///   for i { for r { for j { T[i, j] += f } }  for p in region(i) { S(T[p]) } }
/// Under a reduce loop of the producer the consumer runs on that loop's last iteration only.
///   op         a root whose body reads one op with loops of its own, the producer, and that at its own axes: T[p], p the
///              axes of `op`
///   loop       of the producer
///   registers  the producer's buffer is registers
///   yields     fresh loops, one an axis, behind the items that are under `loop` already
///   errors     no such op or loop; a vectorized loop; `op` reads the producer elsewhere, or reduces over it; another
///              reader of the producer is outside; the producer has tiles in tiles with guarded tails
struct ReverseComputeAt {
  OpId op;
  LoopId loop;
  bool registers = false;
};
Status apply(LoopTree&, const ReverseComputeAt&);

}  // namespace whet
