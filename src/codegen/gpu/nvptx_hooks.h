#pragma once

#include <memory>

#include "codegen/gpu/hooks.h"

namespace whet {

/// For NVIDIA's PTX: a kernel's parameters are pointers to global memory, one an argument and one to the workspace.
std::unique_ptr<GpuHooks> make_nvptx_hooks();

}  // namespace whet
