#pragma once

#include "program/program.h"

namespace whet {

/// Replaces the indices of every load, store and prefetch by one row-major index in elements.
/// Needs:  as many indices as the buffer has extents, or one index.
/// Leaves: one index each; scalars and ramps stay scalars and ramps.
Program flatten(const Program&);

}  // namespace whet
