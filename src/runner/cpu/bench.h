#pragma once

#include <memory>

#include "runner/bench.h"

namespace whet {

/// Runs kernels of format native_object on threads of this process, which are pinned to cores.
std::unique_ptr<KernelBench> make_cpu_bench();

}  // namespace whet
