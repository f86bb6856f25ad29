#pragma once

#include <cstdint>
#include <vector>

#include "schedule/loop_tree.h"

namespace whet {

/// The threads of a block of the launch that these roots become, as `map_threads` numbers them: those of loops inside each
/// other, the most of neighbours; what fills block memory by itself. Whole warps, and whole groups of each sum across
/// threads.
std::int64_t launch_threads(const LoopTree&, const std::vector<Item>& roots);
/// Threads that a loop bound to them occupies.
std::int64_t threads_of_loop(const LoopTree&, LoopId);

}  // namespace whet
