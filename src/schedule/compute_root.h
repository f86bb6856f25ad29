#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// compute_root — an op that was placed under a loop is computed whole again, by a nest of its own at the top.
///   for i { for p in region(i) { T[p] = f(p) }  for j { S(T[g(i, j)]) } }   compute_root(T)  =>
///   for p { T[p] = f(p) }  for i { for j { S(T[g(i, j)]) } }
/// So a rule may attach first and change its mind: the rest of the schedule stays.
///   op      placed by compute_at or reverse_compute_at, with nothing placed under its loops, no cache and no rfactor
///   yields  fresh loops, one an axis (spatial, then reduce); the nest comes directly before its first reader, or,
///           where it was a reader of the nest that it leaves, directly behind that
///   errors  no such op; a root already; frozen loops; it needs what is computed in the nest of its reader
struct ComputeRoot {
  OpId op;
};
Status apply(LoopTree&, const ComputeRoot&);

}  // namespace whet
