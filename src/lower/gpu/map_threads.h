#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Loops bound to blocks and threads become launches: one block loop around one thread loop (program.h).
///   block i in A { block j in B { S; thread k in C { T } } }
///     =>  block b in A*B { thread t in 32 { if t == 0 { S }; if t < C { T[k = t] } } }      where C <= 32
/// Digits of blocks and threads become Lets, the innermost fastest. Where several threads would store the same value to the same
/// place, one of them does, except to memory of a thread: every thread stores to its own. Statements that the threads run together
/// (they fill block memory) have a numbering of their own, and conditions on threads go around the statements beside them. The
/// threads of a sum (thread_sums.h) are neighbours. Where there are more threads, each group of them computes the sum.
/// Needs:  loops bound to blocks outermost, those of a root directly inside each other; no virtual threads.
/// Leaves: launches with grid barriers between them; the same values computed; no loop bound inside of a launch, except
///         the loops that add up partial results (`reduce_threads`).
/// Errors: name the loop or buffer: blocks that are not nested directly, more than kMaxBlockThreads threads, memory of a
///         thread that several threads would use.
Result<Program> map_threads(Program);

}  // namespace whet
