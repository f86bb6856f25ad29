#pragma once

#include "base/result.h"
#include "program/program.h"
#include "target/gpu.h"

namespace whet {

/// Pipelines of block memory are filled by asynchronous copies, where the GPU has them: the copies for an iteration that is
/// some way ahead run while this one works.
///   wait; if later { u[stage] = x[...] }; commit; work   =>   the store is asynchronous
/// A store is one that copies 4, 8 or 16 bytes, an element or a vector, of an argument or of the workspace, alone or as
/// select(guard, x, 0), and that no other thread makes as well (`overlap`): what else goes into block memory, a vector with lanes
/// left out too, is loaded ahead of the work and stored behind it where it can be (late_stores.h), else stored ahead of it.
/// Needs:  groups of copies (`generate`) around what fills a pipeline.
/// Leaves: no group of copies in a launch without an asynchronous store; the same values computed.
Result<Program> make_copies_async(Program, const GpuLimits&);

}  // namespace whet
