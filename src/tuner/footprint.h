#pragma once

#include <cstdint>
#include <vector>

#include "passes/fuse.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// What one inference touches at most [bytes]: the constants of every kernel, as the largest of its algorithms has them
/// (Winograd's transformed weights are 36 numbers for 9; not where `exact`), and twice the largest activation. A weight
/// that is in the cache in a log but not in the network would make the log choose the wrong algorithm.
std::int64_t network_footprint(const FusedGraph&, const std::vector<Task>&, bool exact);

/// How much of a footprint to lay out for measuring [bytes]: four times what the last cache level holds, walked from end to
/// end again and again, is about as cold as any more of it. (Caches keep a part of what is walked through: of a quarter
/// more than a Zen 5 holds, most.)
std::int64_t laid_out(std::int64_t footprint, const Target&);

}  // namespace whet
