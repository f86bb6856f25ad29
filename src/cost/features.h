#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// What a schedule looks like to a model that ranks: one row of numbers, the same columns for every task. Figures that
/// range over magnitudes are logarithms (base 2, of 1 + x). Computed from the loop tree; nothing is lowered.
///
/// The columns: figures of the whole tree, then of its three costliest ops (by `analytic_seconds`): how the work is
/// shared out (parallel extent, balance), how the innermost block uses registers and ports (vectors, accumulators,
/// loads a multiply-add), what each cache level has to deliver, and for the four largest accesses how much is touched,
/// in which steps, and how often it is used again. After "Learning to Optimize Tensor Programs" (Chen et al. 2018) and
/// Ansor (Zheng et al. 2020), reduced to what differs between candidates of one task.
std::vector<float> features(const LoopTree&, const Target&);
/// A name for each column.
const std::vector<std::string>& feature_names();

/// A guess at the run time, without anything learned: for each op the slowest of multiply-adds, loads, stores and the
/// traffic from each cache level (a roofline), divided among the workers as evenly as the loops allow. [s], good for
/// ranking candidates of one task, not for believing.
double analytic_seconds(const LoopTree&, const Target&);

}  // namespace whet
