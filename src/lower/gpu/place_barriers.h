#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Puts a block barrier where a thread may meet an element of block memory, or of memory that the launch stores to, which
/// another thread of the block accessed since the last barrier, one of the two storing. None is needed where the two
/// accesses prove that equal elements mean equal threads, and between two stages of a pipeline that are a constant apart.
/// A barrier goes before the outermost statement that needs one; bodies of loops are walked until none is added.
/// Needs:  launches; indices of one expression a dimension.
/// Leaves: the same values computed, whatever the order of threads.
/// Errors: name the buffer: a barrier would be under a condition or bounds that differ between threads; blocks would
///         have to wait for each other.
Result<Program> place_barriers(Program);

}  // namespace whet
