#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// fuse — loops nested directly in one another become one.
///   for i in 0..A { for j in 0..B { S(i, j) } }  =>  for k in 0..A*B { S(k / B, k % B) }
///   loops   two or more, outermost first, each the only item of the one before, serial, of one op, all spatial or all
///           reduce
///   yields  one loop whose digits are those of `loops` in order
///   errors  no such loop; not directly nested; frozen or annotated; spatial with reduce
struct Fuse {
  std::vector<LoopId> loops;
};
Status apply(LoopTree&, const Fuse&);

}  // namespace whet
