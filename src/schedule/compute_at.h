#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// compute_at — a producer is computed under a loop of its consumers, for the region that they need there.
///   for p { T[p] = f(p) }  for i { for j { S(T[g(i, j)]) } }   compute_at(T, i)  =>
///   for i { for p in region(i) { T[p] = f(p) }  for j { S(T[g(i, j)]) } }
///   op         a root that is no output and whose loops are untouched by other placements; all consumers have their
///              leaves inside `loop`
///   stored_in  registers: every index must become a constant after unrolling, or code generation keeps them on the stack.
///              block: the region is what all threads of the block need while `loop` runs once, so thread and virtual loops
///              around are relaxed; the nest has threads of its own, whose numbers have nothing to do with those around
///   yields     fresh loops, one an axis (spatial, then reduce), whose extents bound the region; the nest comes before
///              its first consumer
///   errors     no such op or loop; a vectorized loop; an output; a consumer outside `loop`; block memory under no block,
///              or for what is computed in block memory itself
struct ComputeAt {
  OpId op;
  LoopId loop;
  StoredIn stored_in = StoredIn::memory;
};
Status apply(LoopTree&, const ComputeAt&);

}  // namespace whet
