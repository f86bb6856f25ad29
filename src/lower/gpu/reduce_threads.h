#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Sums across threads (thread_sums.h) become exchanges. In a warp each thread adds the value of its neighbour at half the distance,
/// then at a quarter, until all have the sum (a butterfly). If there are several warps, they then exchange their sums in block
/// memory.
///   thread l in 4 { total += p[l] }   =>   total = p; other = total of t ^ 2; total += other; other = total of t ^ 1; ...
/// All threads of the block participate; a thread without a value adds the reducer's identity. Conditions that differ between
/// threads go around the statements beside a sum. Afterwards a partial result is one value of each thread.
/// Needs:  `map_threads`; a sum's threads are neighbours, 2, 4, 8, 16 or whole warps.
/// Leaves: no loop bound inside of a launch; the same values computed, in a fixed order.
/// Errors: a loop around a sum runs from other bounds in other threads.
Result<Program> reduce_threads(Program);

}  // namespace whet
