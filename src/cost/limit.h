#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/dag.h"
#include "target/machine_rates.h"

namespace whet {

/// One bound on how fast a task can be.
struct Limit {
  std::string what;  ///< "compute", "L1", "L2", "L3" or "memory"
  double seconds = 0;
  std::string why;  ///< the sum: "231.2 MFLOP at 272 GFLOPS"
};

/// The roofline of a task by the direct algorithm, the tightest bound first: its operations at the peak; its
/// activations once from the cache level that holds them; its constants once from the level that holds `network_bytes`,
/// the bytes that one inference touches. An algorithm with fewer operations may pass the first.
std::vector<Limit> limits_of(const ComputeDag&, const MachineRates&, std::int64_t network_bytes);

}  // namespace whet
