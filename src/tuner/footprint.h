#pragma once

#include <cstdint>
#include <vector>

#include "passes/fuse.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// An upper bound of the bytes that one inference touches: what kernels read of their constants (of a table of words some rows), by the
/// algorithm that has most of them (Winograd's transformed weights are 36 numbers for 9; not where `exact`), and twice the largest activation.
/// If weights were cached while candidates are timed and not in the network, tuning would choose the wrong algorithm.
std::int64_t network_footprint(const FusedGraph&, const std::vector<Task>&, bool exact);

/// How much of a footprint to lay out for measuring [bytes]: at most four times the last cache level. Memory of that size,
/// walked from end to end again and again, is about as cold as more. (A cache keeps a part of memory that is larger than it:
/// a Zen 5 keeps most of a quarter more than its size.)
std::int64_t laid_out(std::int64_t footprint, const Target&);

}  // namespace whet
