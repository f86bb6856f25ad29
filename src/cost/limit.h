#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/dag.h"
#include "target/machine_rates.h"
#include "target/target.h"

namespace whet {

/// A lower bound on the time of a task.
struct Limit {
  std::string what;  ///< "compute", "L1", "L2", "L3" or "memory"
  double seconds = 0;
  std::string why;  ///< the calculation: "231.2 MFLOP at 272 GFLOPS"
};

/// No kernel is faster than this many times the multiply-add peak: Winograd's F(4x4, 3x3) needs a quarter of the multiplications.
/// A peak that a kernel is beyond was measured beside another program.
inline constexpr double kMostOfPeak = 4;

/// Returns the roofline of a task by the direct algorithm, the tightest bound first: the operations at the peak; reading
/// or writing the activations once at the cache level that holds them; reading the constants once from the level that
/// holds `network_bytes`, the bytes that one inference touches. An algorithm with fewer operations may be faster than the
/// first bound.
std::vector<Limit> limits_of(const ComputeDag&, const MachineRates&, std::int64_t network_bytes);
/// The same on a target: rates that nobody has measured are those of its kind, and each bound includes the start of a
/// kernel.
std::vector<Limit> limits_of(const ComputeDag&, const Target&, const MachineRates&, std::int64_t network_bytes);

}  // namespace whet
