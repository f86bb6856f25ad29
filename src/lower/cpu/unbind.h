#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Makes loops that are bound to blocks and threads serial ones, and memory of a block that of a worker; drops groups of
/// asynchronous copies. A CPU has no
/// blocks and threads.
/// Leaves: no loop bound to a block, thread or virtual thread, no buffer of a block; the same values computed.
Result<Program> unbind_loops(Program);

}  // namespace whet
