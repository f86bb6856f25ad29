#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "target/target.h"

namespace whet {

/// The read bandwidth of one level, where each thread reads a buffer of its own that fits there.
struct Bandwidth {
  std::string level;       ///< "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;  ///< read by each thread
  double gb_per_second = 0;
};

/// Measures the read bandwidth of every cache level and of memory, all `cpus` together [GB/s]; about 200 ms.
std::vector<Bandwidth> measure_bandwidth(const Target&, const std::vector<int>& cpus);

}  // namespace whet
