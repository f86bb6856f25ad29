#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// roll — elements that an op computes under a loop are kept for the loop's next iteration, which computes only new ones.
///   for y { for p in 0 .. 3 { T[p] = f(y + p) }  S(T[0 .. 3]) }   roll(T, y)  =>
///   for y { for p in (y == 0 ? 0 : 2) .. 3 { T[(y + p) % 3] = f(y + p) }  S(T[(y + 0) % 3 .. (y + 2) % 3]) }
/// The buffer is then outside of the loop (the op is computed at one loop and stored at another) and turns round
/// along the axis: a sliding window, whose rows are computed once.
///   op      placed by compute_at at or under `loop`, not in registers
///   loop    serial or unrolled, over one digit; from one iteration to the next what is needed moves on along one axis,
///           never backwards, and by the same for all loops between `loop` and the op
///   yields  nothing: loops keep their ids
///   errors  no such op or loop; another place; nothing moves, or several axes; a pipeline; rolled already
struct Roll {
  OpId op;
  LoopId loop;
};
Status apply(LoopTree&, const Roll&);

/// The axis of a rolled op along which its window moves.
std::size_t rolled_axis(const LoopTree&, OpId);
/// The first element along that axis that no earlier iteration of the loop has computed; not of the first iteration.
Expr first_new(const LoopTree&, OpId);

}  // namespace whet
