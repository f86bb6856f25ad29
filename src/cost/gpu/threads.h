#pragma once

#include <cstdint>
#include <vector>

#include "schedule/loop_tree.h"

namespace whet {

/// The threads of a block of the launch that these roots become, as `map_threads` numbers them. Loops inside each other
/// multiply; of loops beside each other the largest counts; the loops that fill block memory are counted separately. The number
/// is rounded up to whole warps, and to whole groups of each sum across threads.
std::int64_t launch_threads(const LoopTree&, const std::vector<Item>& roots);
/// Threads that a loop bound to them occupies; of loops of warps inside each other the innermost counts 32 an iteration.
std::int64_t threads_of_loop(const LoopTree&, LoopId);

}  // namespace whet
