#pragma once

#include <string>
#include <vector>

#include "measure/builds.h"
#include "measure/options.h"

namespace whet {

/// A device's answer to a request, as an outcome of the device of this name. An answer that makes no sense is unknown.
Outcome measure_on(Device&, const std::string& name, const MeasureTask&, const MeasureRequest&);

struct BurstPlan {
  int bursts = 2;      ///< of each kernel
  double seconds = 0;  ///< of a burst; 0: as the options have it
  /// None has run before. The first burst of each begins between guard pages; who is clearly slower than a kernel before has no other
  /// one, and that ends early.
  bool first_look = false;
};

/// Times kernels alternately, a b c a b c ..., so that a drift of the machine falls on all. One outcome a kernel, with the best
/// time of each of its bursts. Kernels that were not built, and those that failed in a burst, take no further part. Where the
/// device takes several at once, a round of all of them is one job, and none ends early.
std::vector<Outcome> compare_on(Device&, const std::string& name, const MeasureTask&, const BuildResults&,
                                const MeasureOptions&, const BurstPlan&);

}  // namespace whet
