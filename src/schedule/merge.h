#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// merge — two neighbouring axes of a tensor become one, and with them those of every op that passes the tensor on
/// element by element (see compute/merge.h): the pixels of a picture can then be cut anywhere, not only within rows.
///   for oh in 14          for ohow in 196
///     for ow in 14   =>     for oc in 512
///       for oc in 512
/// The new DAG starts as its naive schedule; ops keep their ids, loops are counted anew.
///   op      an element op
///   axis    the first of its two axes, counted from 0, reduce axes after spatial ones
///   errors  no such axes; they are read otherwise than element by element, or of a constant; anything was scheduled
///           before but winograd and merge
struct Merge {
  OpId op;
  std::int64_t axis;
};
Status apply(LoopTree&, const Merge&);

}  // namespace whet
