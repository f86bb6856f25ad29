#pragma once

#include "base/result.h"
#include "program/program.h"
#include "target/gpu.h"

namespace whet {

/// Makes the stores that fill a pipeline of block memory asynchronous copies, where the GPU has them: the copies for a later
/// iteration run while this one works.
///   wait; if later { u[stage] = x[...] }; commit; work   =>   the store is asynchronous
/// A store becomes asynchronous if it copies 4, 8 or 16 bytes (an element or a vector) of an argument or of the workspace, alone or as
/// select(guard, x, 0), and if no other thread makes it too (`overlap`). Other stores to block memory, vectors with masked lanes among
/// them, are loaded ahead of the work and stored behind it where that is possible (late_stores.h), else stored ahead of it.
/// Needs:  groups of copies (`generate`) around what fills a pipeline.
/// Leaves: no group of copies in a launch without an asynchronous store; the same values computed.
Result<Program> make_copies_async(Program, const GpuLimits&);

}  // namespace whet
