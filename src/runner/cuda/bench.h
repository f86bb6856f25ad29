#pragma once

#include <memory>

#include "runner/bench.h"
#include "runtime/cuda/driver.h"

namespace whet {

/// Run kernels of format ptx on a GPU, and kernels of format emulated on the emulated device.
///
/// The first run of a measurement has its arguments and workspace between patterns, with outputs poisoned. The time is that of a
/// CUDA graph of R copies of the kernel, divided by R. R makes a replay take 1 ms. Gaps between launches count, the graph's
/// launch does not. The first replay does not count, nor do those of the 30 ms after a pause, while clocks rise. Copy i reads
/// the next constants of a pool (CacheMode::network: as large as the network; cold: twice the device's cache; warm: one
/// place). Activations stay where they are. On the emulated device the first run is of some blocks, checks are of all, and
/// replays take the estimate's time without running.
std::unique_ptr<KernelBench> make_cuda_bench();
std::unique_ptr<KernelBench> make_emulated_bench();

/// How a driver is found when the first kernel comes; null where there is none, and a sentence.
using FindCudaDriver = const CudaDriver* (*)(whet_error*);
std::unique_ptr<KernelBench> make_cuda_bench(FindCudaDriver find);

}  // namespace whet
