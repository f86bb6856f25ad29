#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace whet {

/// "3 kernels as nchw16c, 2 as nhwc -> nchw16c, 1 copy nchw16c -> nhwc"; "the usual kernels" where there are none.
std::string kernels_text(const std::vector<PlannedKernel>&);

/// The last plan for each other target (as another number of threads) of the graph with this hash, beside the kernels `here`: a line
/// a target, and a line for each kernel that only one of the two has. "" where there is no such plan.
std::string other_plans_text(const std::vector<Plan>& plans, const std::string& graph, const std::string& target,
                             const std::vector<PlannedKernel>& here);

}  // namespace whet
