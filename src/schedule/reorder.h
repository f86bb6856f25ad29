#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// reorder — loops of one op change places among themselves.
///   for i { for j { for k { S } } }   reorder(k, i)  =>  for k { for j { for i { S } } }
///   loops   of one op, each the only item of its parent loop from the first of them on; given outermost first
///   yields  the same ids at new places
///   errors  no such loop; frozen or annotated; loops of different ops, or something else is between them
struct Reorder {
  std::vector<LoopId> loops;
};
Status apply(LoopTree&, const Reorder&);

}  // namespace whet
