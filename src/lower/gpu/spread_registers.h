#pragma once

#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Divides memory of a thread that the threads of a launch fill together: each thread keeps only the elements that it stores and reads.
///   for q { e[q*32 + t % 32] = f(q) }; for q { y[..] = e[q*32 + t % 32] }   =>   the same of e[q], a 32nd as long
/// So a row of a softmax stays in the registers of a warp or block.
///   launch   as `map_threads` leaves it
///   buffers  memory of a thread, by BufferId
/// Errors: name a buffer that is not accessed everywhere at the same digit of the thread's number.
Result<Stmt> spread_registers(Program&, const Stmt& launch, const std::vector<std::size_t>& buffers);

}  // namespace whet
