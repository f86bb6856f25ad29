#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// The vectors that a processor has.
struct VectorSupport {
  int bytes = 16;           ///< of a native vector
  bool free_masks = false;  ///< a masked load or store costs no more than a whole one
};

/// Replaces each vectorized loop by vectors. Full native vectors come first. The remainder becomes one vector whose last
/// lanes are masked, where masks are free and registers have padding; else narrower vectors: halves, down to one element.
/// Needs:  flat indices; vectorized loops innermost (no loop inside) with constant bounds.
/// Leaves: no vectorized loop; ramps and broadcasts; a condition that differs between lanes as masks of loads and stores.
/// Errors: name the loop that is not innermost or has other bounds.
Result<Program> vectorize_loops(Program, VectorSupport);

}  // namespace whet
