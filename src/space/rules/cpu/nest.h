#pragma once

#include "space/rules/rule.h"

namespace whet {

// What the rules for ops without tiles share.

/// Elements of the op's type in a native vector; at least 1.
std::int64_t lanes_of(const Derivation&, OpId op);
/// Ops that `op` needs and that are still open, directly or through others; from the outputs to the inputs.
std::vector<OpId> open_inputs(const Derivation&, OpId op);
/// The loop of a nest under which `op` can be computed without computing much again, when all open ops behind it are
/// placed likewise; invalid where there is none.
LoopId place_of(const Derivation&, OpId op);
/// Gives `op` a nest of its own, with its decisions; `treatment` becomes nest.
void make_nest(Derivation&, OpId op);
/// Decides in how many vectors `op` is computed at a time, and computes it so.
void vectorize(Derivation&, OpId op);

}  // namespace whet
