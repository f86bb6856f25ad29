#pragma once

#include <cstdint>

#include "schedule/loop_tree.h"

namespace whet {

/// inline — an op disappears into the bodies of its consumers.
///   T[p] = f(p);  S(T[g(i)])   =>   S(f(g(i)))
///   op      an untouched root without a reduction that is no output
///   yields  nothing; its loops are gone
///   errors  no such op; an output; a reduction; already placed; a body beyond kMostNodes
struct Inline {
  OpId op;
};
Status apply(LoopTree&, const Inline&);

/// A body's nodes, counted once for each time they occur in it: thirty ops of the form t + t, each inlined into the
/// next, would have a billion.
constexpr std::int64_t kMostNodes = 1 << 13;
/// About how many nodes the largest body has that inlining `op` would leave; indices that take the place of variables
/// are counted only where an index reads the op too, since they unfold there.
std::int64_t nodes_when_inlined(const LoopTree&, OpId op);

}  // namespace whet
