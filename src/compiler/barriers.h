#pragma once

#include <vector>

#include "artifact/model_plan.h"

namespace whet {

/// Sets `barrier` on the steps that need one: a step that touches memory which a step since the last barrier wrote, or
/// writes memory which one read, unless worker 0 alone runs both.
///   written  for each step, for each of its arguments: whether the kernel stores to it
void place_barriers(std::vector<ModelPlan::Step>& steps, const std::vector<std::vector<bool>>& written);

}  // namespace whet
