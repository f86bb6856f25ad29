#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// A CPU has no blocks and threads: loops that are bound to these become serial, memory of a block becomes memory of a worker,
/// and groups of asynchronous copies are dropped.
/// Leaves: no loop bound to a block, thread or virtual thread, no buffer of a block; the same values computed.
Result<Program> unbind_loops(Program);

}  // namespace whet
