#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// A CPU has no blocks and threads of its own to run loops on: bound loops become serial ones.
/// Leaves: no loop bound to a block, thread or virtual thread; the same values computed.
Result<Program> unbind_loops(Program);

}  // namespace whet
