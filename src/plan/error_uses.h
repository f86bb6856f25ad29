#pragma once

#include <vector>

#include "alternatives/alternatives.h"
#include "trial/error.h"

namespace whet {

/// What each alternative adds to the squared error of a network's answers (PlanOptions::uses): the squares of what its layer's roundings do
/// alone. Squares add up as long as errors are independent of each other.
struct ErrorUses {
  std::vector<double> uses;  ///< one an alternative; 0 of those that round nothing
  std::vector<int>
      unknown;  ///< alternatives with a rounding of which nobody has measured an error, or one that is not finite
};

/// The last error of each layer counts. All are of this network, its weights and the same samples.
ErrorUses error_uses(const FusedGraph&, const Alternatives&, const std::vector<LayerError>&);

}  // namespace whet
