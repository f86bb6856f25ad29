#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// pack — a constant is laid out in the order in which its reader's loops meet it.
///   for i { for j { S(W[g(i, j)]) } }   pack(W, S)  =>
///   P[i, j] = W[g(i, j)] once, ahead of time;  for i { for j { S(P[i, j]) } }
/// The dimensions of P are the leaf digits that the index depends on, outermost loop first. Elements that a guard leaves
/// out are 0; elements that overlapping tiles share are stored twice. P belongs to the task's packing.
///   tensor  a constant placeholder, or an op that depends on constants alone, read once in the body of `reader`, at a place that
///           axes and constants say
///   errors  no such op; not constant; read twice or not at all, or where other data decide; packed already
struct Pack {
  OpId tensor, reader;
};
Status apply(LoopTree&, const Pack&);

/// Whether `reader` reads the tensor at a place that is not known while compiling: elements of a tensor that is no constant decide it.
bool is_read_where_data_say(const ComputeDag&, OpId tensor, OpId reader);

}  // namespace whet
