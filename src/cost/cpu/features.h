#pragma once

#include <string>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// The columns are figures of the whole tree, then of its three costliest ops (by `cpu_seconds`): the division of the work among
/// workers (parallel extent, balance); the registers and ports of the innermost block (vectors, accumulators, loads for each
/// multiply-add); the bytes from each cache level; and for the four largest accesses the touched bytes, strides and reuse. After "Learning to Optimize Tensor Programs" (Chen et al. 2018) and
/// Ansor (Zheng et al. 2020), reduced to the figures that differ between candidates of one task.
std::vector<float> cpu_features(const LoopTree&, const Target&);
const std::vector<std::string>& cpu_feature_names();

/// For each op the slowest of multiply-adds, loads, stores and the traffic from each cache level (a roofline), divided
/// among the workers as evenly as the loops allow. [s]
double cpu_seconds(const LoopTree&, const Target&);
/// The same without the traffic. [s]
double cpu_issue_seconds(const LoopTree&, const Target&);

}  // namespace whet
