#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// bind — a loop runs on the blocks or threads of a GPU.
///   for i in 0..N { S(i) }  =>  block / thread / virtual / warp i in 0..N { S(i) }
/// Blocks share nothing but memory; the threads of a block share its buffers; virtual threads are iterations of one
/// thread that run interleaved. On a CPU each of them is a serial loop.
/// A factored reduce loop (rfactor.h) on threads is a sum across them. All threads that take part have the result, so it may
/// be inside the threads of another op, which reads it. So may what is kept in registers: `lower` refuses it where a thread
/// reads what another one has.
/// Iterations on warps are 32 threads each, which work together: on tiles of a warp-wide intrinsic (tensorize.h) and on
/// what is computed of their sums. `lower` refuses anything else under such a loop but what fills block memory.
///   loop    serial; spatial, or factored for threads. block: only blocks around it. thread, virtual, warp: under a block;
///           around warps there are blocks and warps of the same op alone
///   kind    block, thread, virtual_thread or warp
///   limits  three blocks and three threads inside each other; kMaxBlockThreads threads; kMaxUnroll virtual threads.
///   Across threads: the innermost of them; 2, 4, 8 or 16 of them, or 32 and more
///   errors  no such loop; annotated; reduce and not factored; a condition above does not hold; threads inside those of
///   another op; threads and warps of one op
struct Bind {
  LoopId loop;
  LoopKind kind;
};
constexpr std::int64_t kMaxBlockThreads = 1024;
/// The threads that a sum across `partials` of them occupies: whole warps where it is more than one.
std::int64_t threads_of_sum(std::int64_t partials);
Status apply(LoopTree&, const Bind&);

}  // namespace whet
