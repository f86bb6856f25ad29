#pragma once

#include "lower/lower.h"

namespace whet {

/// Replaces each vectorized loop by full native vectors and, for what is left, one whose last lanes are masked (where
/// masks are free and registers have padding), or narrower ones (halves, down to one element). Needs:  flat indices; vectorized loops innermost (no loop inside) with constant bounds.  Else: an error
/// that names the loop. Leaves: no vectorized loop; ramps and broadcasts; a condition that differs between lanes as
/// masks of loads and stores.
Result<Program> vectorize_loops(Program, const Target&);

}  // namespace whet
