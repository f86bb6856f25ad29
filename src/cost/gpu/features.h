#pragma once

#include <string>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// 48 columns: figures of the whole kernel, then of its three costliest launches: the terms of the estimate
/// (cost/gpu/estimate.h), how blocks fill the SMs, registers and block memory, and how threads access memory.
std::vector<float> gpu_features(const LoopTree&, const Target&);
const std::vector<std::string>& gpu_feature_names();

}  // namespace whet
