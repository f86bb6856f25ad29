#pragma once

#include "program/program.h"

namespace whet {

/// Replaces the indices of every load, store and prefetch by one row-major index in elements.
/// Needs:  as many indices as the buffer has extents, or one index.
/// Leaves: one index each; scalars and ramps stay scalars and ramps. Rows of arguments with sizes are as far apart as they are long at
///         run time.
Program flatten(const Program&);

}  // namespace whet
