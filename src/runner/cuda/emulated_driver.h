#pragma once

#include <cstdint>
#include <string>

#include "emulate/kernel.h"
#include "runtime/cuda/driver.h"

namespace whet {

/// How the emulated device runs launches. What it is set to holds for the whole process.
struct EmulatedRun {
  enum class Blocks {
    all,
    some,  ///< the first, the last and six others of each launch, by the seed: enough to trap
    none,  ///< no kernel runs: time passes alone
  } blocks = Blocks::all;
  EmulatedOrder order = EmulatedOrder::forward;
  std::uint64_t seed = 0;
  int workers = 1;  ///< threads of the host
};
void set_emulated_run(const EmulatedRun&);

/// A CUDA driver with one device that runs emulated code (artifact/emulated_module.h) on this host, for whatever
/// architecture it was made. Everything is done at once when it is put on a stream. Its clock is the estimate's: a launch
/// takes as long as the module says of its entry, and as long as the host took where that is unknown; nothing else takes time.
/// Every allocation ends against a page that may not be touched, as far as 256-byte alignment goes. Not there: linking,
/// mapped memory, programmatic edges. Thread-safe.
const CudaDriver& emulated_cuda_driver();

/// The device's clock [s].
double emulated_seconds();
/// Why the last launch failed: "k: block 3: thread 5 waits at a barrier that thread 7 does not come to"; "" where none did.
std::string emulated_failure();

}  // namespace whet
