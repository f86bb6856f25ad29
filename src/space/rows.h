#pragma once

#include "space/space.h"

namespace whet {

/// The schedule of everything else (element by element, injective, softmax, layer norm, reductions along the innermost
/// axis): the output's outer axes shared out, its innermost axis in vectors, what it needs computed row by row under
/// it.
///   decision: vectors (native vectors in a step along the innermost axis)
Sketch rows_sketch(const ComputeDag&, const Target&);

}  // namespace whet
