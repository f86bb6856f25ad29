#pragma once

#include <cstdint>

namespace whet {

/// What the threads that run kernels reach together on a machine. Zero: unknown.
struct MachineRates {
  double gflops = 0;                                          ///< float multiply-adds, two operations each
  double bf16_gflops = 0;                                     ///< the same of bf16, in pairs, or by a unit of tiles
  double l1_gbs = 0, l2_gbs = 0, l3_gbs = 0, memory_gbs = 0;  ///< reading
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;      ///< of all of them together
};

}  // namespace whet
