#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// split — one loop becomes two nested loops.
///   for i in 0..N { S(i) }  =>  for o in 0..ceil(N/f) { for n in 0..f { S(o*f + n) } }
///   loop    serial, over one digit of extent N [iterations]      factor  f, 1 <= f <= N
///   tail    what happens where f does not divide N; overlap: S(min(o*f, N-f) + n), spatial axes only
///   sizes   N may be a function of the DAG's sizes: then f is at most the largest N, and overlapping tiles leave out the sizes
///           at which N is less than f (LoopTree::dag)
///   yields  {outer, inner}; `loop` names nothing afterwards
///   errors  no such loop; f outside 1..N; the loop is fused, frozen, or has a kind; overlap on a reduce axis, or over several
///           sizes that may make fewer iterations than f
struct Split {
  LoopId loop;
  std::int64_t factor;
  Tail tail;
};
Status apply(LoopTree&, const Split&);

}  // namespace whet
