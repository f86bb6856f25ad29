#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// prefetch — what an op reads some iterations later is asked for now.
///   for i { S(X[g(i)]) }   prefetch(X, S, i, 2)  =>   for i { prefetch X[g(i + 2)]  S(X[g(i)]) }
/// Processors find streams by themselves; a tile's rows, far apart, they do not.
///   tensor  an input or an op that lies in memory, read by `reader`
///   loop    around the leaf of `reader`, not vectorized, over one digit
///   ahead   iterations, 1 .. kMaxAhead
///   yields  nothing: loops keep their ids; `loop` is frozen
///   errors  no such op or loop; not read, inlined or in registers; prefetched there already
/// `lower` asks for each cache line of the box that one iteration reads, at most for kMaxPrefetchedLines; where the box
/// is not known (data-dependent indices), for nothing.
struct PrefetchRead {
  OpId tensor, reader;
  LoopId loop;
  std::int64_t ahead;
};
constexpr std::int64_t kMaxAhead = 64;
constexpr std::int64_t kMaxPrefetchedLines = 128;
Status apply(LoopTree&, const PrefetchRead&);

}  // namespace whet
