#include "runtime/cuda/sm_memory.h"

namespace whet {
namespace {

/// Of each block's memory, for the driver's own use ("Shared Memory" of compute capability 8.x and newer in the CUDA C++
/// Programming Guide) [bytes].
constexpr std::uint64_t kReserved = 1024;

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// What the blocks that an SM runs at once have together, and one more: the next launch's first block, which starts early [bytes].
CUresult memory_of_blocks(const CudaContext& context, const LaunchedKernel& kernel, std::uint64_t* bytes) {
  int most = 0;
  const CUresult code = context.driver->call.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &most, kernel.function, static_cast<int>(kernel.threads), kernel.block_memory);
  const std::uint64_t given = divided_up(kernel.blocks, static_cast<std::uint64_t>(context.info.multiprocessors));
  const auto fitting = static_cast<std::uint64_t>(most);
  *bytes = ((given < fitting ? given : fitting) + 1) * (kernel.block_memory + kReserved);
  return code;
}

}  // namespace

CUresult share_sm_memory(const CudaContext& context, const LaunchedKernel* kernels, std::uint32_t count) {
  const CudaFunctions& call = context.driver->call;
  int all = 0;
  CUresult code =
      call.cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, context.device);
  std::uint64_t needed = 0;
  for (std::uint32_t k = 0; code == 0 && k < count; ++k) {
    std::uint64_t bytes = 0;
    if (kernels[k].block_memory > 0) code = memory_of_blocks(context, kernels[k], &bytes);
    needed = bytes > needed ? bytes : needed;
  }
  const std::uint64_t percent = all > 0 ? divided_up(100 * needed, static_cast<std::uint64_t>(all)) : 0;
  for (std::uint32_t k = 0; code == 0 && k < count; ++k)
    code = call.cuFuncSetAttribute(kernels[k].function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                   static_cast<int>(percent < 100 ? percent : 100));
  return code;
}

}  // namespace whet
