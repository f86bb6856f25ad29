#pragma once

#include "schedule/loop_tree.h"
#include "schedule/precision.h"

namespace whet {

/// round — the elements of an op are rounded when they are computed, as tensor cores take their operands. An operand that is
/// copied into block memory, or computed ahead of time, is then rounded once, and not by each warp that reads it.
///   f16   the op becomes one of f16, in half the memory: x(i, k): f16 = f16(a[i, k]), which readers read as f32(x[i, k])
///   tf32  it stays f32: x(i, k) = round_tf32(a[i, k])
/// Results change where a reader would not round them alike: a space has the step where its precision is asked for.
/// The new DAG starts as its naive schedule; ops keep their ids.
///   op      an element op of f32 that reduces nothing and is no output
///   to      f16 or tf32
///   errors  another op or precision; anything was scheduled before but steps that change the DAG
struct Round {
  OpId op;
  Precision to;
};
Status apply(LoopTree&, const Round&);

}  // namespace whet
