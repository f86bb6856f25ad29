#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Cuts loops over sizes where padding begins and ends, so that tiles between test nothing.
///   for o in 0 .. E                              let first = ..., let end = ...
///     unroll i in 0 .. f                         for o in 0 .. first { as before }
///       if o*f + i - 1 >= 0 && o*f + i < n  =>   for o in first .. end
///         S                                        unroll i in 0 .. f { S }
///                                                for o in max(first, end) .. E { as before }
/// In parallel loops, and for digits, the choice stands inside. Loops with constant extents are the business of `resolve_guards`, and so
/// are conditions that no unrolled or vectorized loop changes.
/// Needs:  guards as Ifs; tails of sizes made exact (lower/remainders.h); a program without sizes is left as it is.
/// Leaves: the same values computed; copies within kMaxEdgeStores; each variable bound once.
Result<Program> cut_interiors(Program);

}  // namespace whet
