#pragma once

#include <cstdint>

#include "runtime/cuda/device.h"

namespace whet {

/// A kernel as it is launched.
struct LaunchedKernel {
  CUfunction function;
  std::uint32_t blocks, threads, block_memory;  ///< of the grid; of a block; bytes of a block
};

/// Gives kernels that run behind each other the same part of an SM's memory for their blocks; the rest is the SM's L1 cache. The
/// part is the block memory of the most demanding kernel, times the blocks that an SM runs at once and one more. A launch
/// that asks for another part than the launch before it cannot start on an SM while the blocks of that launch are there.
/// docs/gpu/results.md has the gain. The context is current.
CUresult share_sm_memory(const CudaContext& context, const LaunchedKernel* kernels, std::uint32_t count);

}  // namespace whet
