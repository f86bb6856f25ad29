#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Puts a block barrier between two accesses of different threads of a block to one element, if one of the accesses is a store
/// and no other barrier is between them. The element is in block memory, or in memory that the launch stores to. No barrier is needed
/// where equal elements are proven to mean equal threads, and between two stages of a pipeline that are a constant apart.
/// A barrier goes before the outermost statement that needs one; bodies of loops are walked until none is added.
/// Needs:  launches; indices of one expression a dimension.
/// Leaves: the same values computed, whatever the order of threads.
/// Errors: name the buffer: a barrier would be under a condition or bounds that differ between threads; blocks would
///         have to wait for each other.
Result<Program> place_barriers(Program);

}  // namespace whet
