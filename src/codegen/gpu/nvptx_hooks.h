#pragma once

#include <memory>

#include "codegen/gpu/hooks.h"
#include "target/gpu.h"

namespace whet {

/// For NVIDIA's PTX: a kernel's parameters are pointers to global memory, one an argument and one to the workspace. Where
/// `starts_early` (sm_90), it begins with a wait for the launches in front of it, and lets the next ones come to theirs. A tile of
/// bytes is one instruction from sm_80 on, and four of quarters of it before.
std::unique_ptr<GpuHooks> make_nvptx_hooks(const GpuLimits&, bool starts_early);

}  // namespace whet
