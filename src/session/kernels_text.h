#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace whet {

/// "3 kernels as nchw16c, 2 as nhwc -> nchw16c, 1 copy nchw16c -> nhwc"; "the usual kernels" where there are none.
std::string kernels_text(const std::vector<PlannedKernel>&);

}  // namespace whet
