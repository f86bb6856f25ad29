#pragma once

#include "program/program.h"

namespace whet {

/// In a vectorized loop, a comparison that holds for all lanes or for none is rewritten without the lane, so that a vector is one
/// access or one asynchronous copy.
///   vector u in 4 { if (r*4 + u < 1000) { S(u) } }   =>   vector u in 4 { if (r < 250) { S(u) } }
/// It holds for all lanes or for none where the number of lanes, times the lane's factor, divides all other terms of the comparison.
/// Needs:  vectorized loops from 0, with constant extents.
/// Leaves: the same values computed.
Program with_whole_guards(Program);

}  // namespace whet
