#pragma once

#include <memory>

#include "codegen/gpu/hooks.h"

namespace whet {

/// For emulation on the host: functions `int32_t entry(whet_block*)` (artifact/emulated_block.h).
std::unique_ptr<GpuHooks> make_host_hooks();

}  // namespace whet
