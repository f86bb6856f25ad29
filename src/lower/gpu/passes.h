#pragma once

#include "lower/passes.h"

namespace whet {

/// The passes for NVIDIA GPUs.
std::span<const LoweringPass> gpu_passes();

}  // namespace whet
