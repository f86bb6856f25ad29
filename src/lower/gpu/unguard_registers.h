#pragma once

#include "base/result.h"
#include "program/program.h"
#include "target/gpu.h"

namespace whet {

/// Drops guards around computations in registers whose results are never stored to memory: elements beyond the end of an axis,
/// computed from whatever block memory holds there. So the main loop of a tile that does not divide its axis has no branches.
///   if c(r) { acc[r] = 0 }                                 acc[r] = 0
///   for k { if c(r) { acc[r] = acc[r] + u[r, k] } }   =>   for k { acc[r] = acc[r] + u[r, k] }
///   if c(r) { y[r] = acc[r] }                              if c(r) { y[r] = acc[r] }
/// A condition is dropped if
///   every access to the buffer has it, as a function of the element and of the block's and the thread's number alone;
///   stores to the buffer read only registers and block memory, and divide no integers by these;
///   all accesses are proven to be inside their buffers without it.
/// The buffers that these stores read get gaps (Buffer::gaps).
/// Needs:  launches, indices of one expression a dimension.
/// Leaves: the same values in memory.
Program unguard_registers(Program, const GpuLimits&);

}  // namespace whet
