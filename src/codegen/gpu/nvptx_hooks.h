#pragma once

#include <memory>

#include "codegen/gpu/hooks.h"

namespace whet {

/// For NVIDIA's PTX: a kernel's parameters are pointers to global memory, one an argument and one to the workspace. Where
/// `starts_early` (sm_90), it begins with a wait for the launches in front of it, and lets the next ones come to theirs.
std::unique_ptr<GpuHooks> make_nvptx_hooks(bool starts_early);

}  // namespace whet
