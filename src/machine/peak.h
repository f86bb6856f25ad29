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

/// Measures the highest rate of float multiply-adds (two operations each) that the vectors of `target` reach on `cpus`
/// together, in GFLOPS. It runs independent register chains and takes the best of a few bursts; about 20 ms.
double measure_peak_gflops(const Target&, const std::vector<int>& cpus);

/// Measures the read bandwidth of every cache level and of memory, all `cpus` together [GB/s]; about 200 ms.
std::vector<Bandwidth> measure_bandwidth(const Target&, const std::vector<int>& cpus);

}  // namespace whet
