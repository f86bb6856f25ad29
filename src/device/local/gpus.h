#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/local/zygote.h"
#include "target/target.h"

namespace whet {

/// A process that asks the driver for its GPUs.
extern const Life kFindGpus;

/// A GPU of this machine.
struct LocalGpu {
  std::string name;
  GpuTarget target;
  std::int64_t memory = 0;  ///< bytes
  int driver = 0;           ///< version, as cuDriverGetVersion counts: 13000 for CUDA 13.0
};

/// The GPUs that the driver finds, as it numbers them. Without a driver or a GPU it is an error. It starts the driver in this
/// process, whose children then cannot use it.
Result<std::vector<LocalGpu>> find_gpus();
/// The same, asked in a process of its own.
Result<std::vector<LocalGpu>> find_gpus(Zygote&);

}  // namespace whet
