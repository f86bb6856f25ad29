#pragma once

#include <cstdint>

#include "runtime/cuda/device.h"

namespace whet {

/// A kernel as it is launched.
struct LaunchedKernel {
  CUfunction function;
  std::uint32_t blocks, threads, block_memory;  ///< of the grid; of a block; bytes of a block
};

/// Gives kernels that run behind each other the same part of an SM's memory for their blocks; the rest is its first cache.
/// It is as much as the blocks of the most demanding kernel have that an SM runs at once, and one more. A launch that
/// wants another part than the launch before cannot start on an SM while that one's blocks are there. docs/gpu/results.md has what
/// it brings. The context is current.
CUresult share_sm_memory(const CudaContext& context, const LaunchedKernel* kernels, std::uint32_t count);

}  // namespace whet
