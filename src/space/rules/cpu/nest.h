#pragma once

#include "space/rules/rule.h"

namespace whet {

// Functions that the rules for ops without tiles share.

/// Returns the number of elements of the op's type in a native vector, at least 1.
std::int64_t lanes_of(const Derivation&, OpId op);
/// Returns the open ops that `op` needs, directly or through others, from the outputs to the inputs.
std::vector<OpId> open_inputs(const Derivation&, OpId op);
/// Returns the loop of a nest under which `op` can be computed with little recomputation, if all open ops that it needs
/// are placed in the same way; an invalid id where there is none.
LoopId place_of(const Derivation&, OpId op);
/// Gives `op` a nest of its own, with its decisions; `treatment` becomes nest.
void make_nest(Derivation&, OpId op);
/// Adds the decision how many vectors of `op` are computed at a time, and vectorizes it by that decision.
void vectorize(Derivation&, OpId op);

}  // namespace whet
