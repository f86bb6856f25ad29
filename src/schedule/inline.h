#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// inline — an op disappears into the bodies of its consumers.
///   T[p] = f(p);  S(T[g(i)])   =>   S(f(g(i)))
///   op      an untouched root without a reduction that is no output
///   yields  nothing; its loops are gone
///   errors  no such op; an output; a reduction; already placed
struct Inline {
  OpId op;
};
Status apply(LoopTree&, const Inline&);

}  // namespace whet
