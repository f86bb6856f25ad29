#pragma once

#include "space/space.h"

namespace whet {

/// The schedule that every DAG has on a GPU: each op that is not inlined is a launch of its own, an element a thread,
/// reductions serial in the thread. Neighbouring threads store to neighbouring elements.
///   inlined  ops that cost nothing to compute again: copies and paddings, and elements with one reader that is no reduction
///   threads  kSafeThreads a block, cut from the innermost axes
void safe_schedule(Scheduler&);
/// The part of it that inlines.
void inline_for_gpu(Scheduler&);
bool inlined_for_gpu(const LoopTree&, OpId);
constexpr std::int64_t kSafeThreads = 256;

/// One candidate, without a decision.
std::optional<Sketch> safe_sketch(const ComputeDag&, const Target&);

}  // namespace whet
