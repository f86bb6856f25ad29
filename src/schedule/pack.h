#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// pack — a constant is laid out in the order in which its reader's loops meet it.
///   for i { for j { S(W[g(i, j)]) } }   pack(W, S)  =>
///   P[i, j] = W[g(i, j)] once, ahead of time;  for i { for j { S(P[i, j]) } }
/// The dimensions of P are the leaf digits that the index depends on, outermost loop first. Elements that a guard leaves
/// out are 0; elements that overlapping tiles share are stored twice. P belongs to the task's packing.
///   tensor  a constant placeholder, or an op that depends on constants alone, read once in the body of `reader`
///   errors  no such op; not constant; read twice or not at all; packed already
struct Pack {
  OpId tensor, reader;
};
Status apply(LoopTree&, const Pack&);

}  // namespace whet
