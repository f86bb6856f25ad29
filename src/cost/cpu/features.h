#pragma once

#include <string>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// The columns: figures of the whole tree, then of its three costliest ops (by `cpu_seconds`). These are how the work is
/// shared out (parallel extent, balance), how the innermost block uses registers and ports (vectors, accumulators, loads
/// a multiply-add), the bytes that each cache level delivers, and for the four largest accesses how much is touched, in
/// which steps, and how often it is used again. After "Learning to Optimize Tensor Programs" (Chen et al. 2018) and
/// Ansor (Zheng et al. 2020), reduced to the figures that differ between candidates of one task.
std::vector<float> cpu_features(const LoopTree&, const Target&);
const std::vector<std::string>& cpu_feature_names();

/// For each op the slowest of multiply-adds, loads, stores and the traffic from each cache level (a roofline), divided
/// among the workers as evenly as the loops allow. [s]
double cpu_seconds(const LoopTree&, const Target&);

}  // namespace whet
