#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// bind — a loop runs on the blocks or threads of a GPU.
///   for i in 0..N { S(i) }  =>  block / thread / virtual i in 0..N { S(i) }
/// Blocks share nothing but memory; the threads of a block share its buffers; virtual threads are iterations of one
/// thread that run interleaved. On a CPU each of them is a serial loop.
///   loop    serial and spatial. block: only blocks around it. thread, virtual: under a block
///   kind    block, thread or virtual_thread
///   limits  three blocks and three threads inside each other; kMaxBlockThreads threads; kMaxUnroll virtual threads
///   errors  no such loop; annotated; reduce; a condition above does not hold; threads inside those of another op
struct Bind {
  LoopId loop;
  LoopKind kind;
};
constexpr std::int64_t kMaxBlockThreads = 1024;
Status apply(LoopTree&, const Bind&);

}  // namespace whet
