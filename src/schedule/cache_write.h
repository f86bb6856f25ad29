#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// cache_write — while a loop of an op runs once, the elements that it touches are kept in registers.
///   for i { for r { for j { T[i, j] += f } } }   cache_write(T, i)  =>
///   for i { acc[*] = identity  for r { for j { acc[j] += f } }  for j { T[i, j] = acc[j] } }
/// Under a reduce loop of the op the cache accumulates: identity on the first iteration, loaded on the others, stored
/// at the end.
///   loop    of `op`; the tile that it touches has a constant extent
///   yields  nothing: loops keep their ids
///   errors  no such op or loop; `loop` belongs to another op; the op has a cache already
struct CacheWrite {
  OpId op;
  LoopId loop;
};
Status apply(LoopTree&, const CacheWrite&);

}  // namespace whet
