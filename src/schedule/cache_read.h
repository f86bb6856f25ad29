#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// cache_read — a reader gets a copy of its own of a tensor, which can be placed like any op.
///   for i { S(X[g(i)]) }   cache_read(X, S)  =>   for j { C[j] = X[j] }  for i { S(C[g(i)]) }
/// Computed at a loop of the reader, the copy is a small dense buffer of the elements that the loop reads. Elements that
/// lie far apart in X are neighbours in it, so that they no longer share a cache set.
///   tensor  an input or an op, not constant (those are packed), read by `reader`
///   yields  the copy gets the id of `reader`; `reader` and the ops behind it move up by one, and all loops are
///   those of the new DAG
///   errors  no such op; constant; not read; anything was scheduled before
struct CacheRead {
  OpId tensor, reader;
};
Status apply(LoopTree&, const CacheRead&);

}  // namespace whet
