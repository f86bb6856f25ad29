#pragma once

#include <vector>

#include "schedule/steps.h"

namespace whet {

/// Loops of an op, cut so that the inner ones have at most `threads` iterations together: those of a block's threads.
struct LaunchLevels {
  std::vector<LoopId> blocks, threads;
};
/// `spatial`: outermost first. Both parts have a loop, unless `spatial` is empty, or a primitive was refused before.
LaunchLevels cut_levels(Scheduler&, std::vector<LoopId> spatial, std::int64_t threads);
/// Orders the loops: blocks, threads, `inside`, outermost first. Fuses and binds the first two; returns the loop of the threads.
LoopId bind_levels(Scheduler&, const LaunchLevels&, const std::vector<LoopId>& inside);

/// Schedules `loops`, outermost first, over memory that the threads of a block fill together: vectors of `lanes`; from the innermost
/// loop out, as many iterations on `threads` as there are threads left; the other iterations one after the other.
void fill_together(Scheduler&, std::vector<LoopId> loops, std::int64_t lanes, std::int64_t threads);

/// The last of `loops`, which are not empty, becomes a vector; the others are unrolled.
void unroll_vectors(Scheduler&, const std::vector<LoopId>& loops);

/// The loops of an op that run over its result, outermost first, and those that run over its sum.
std::vector<LoopId> spatial_loops(const Scheduler&, OpId);
std::vector<LoopId> reduce_loops(const Scheduler&, OpId);

}  // namespace whet
