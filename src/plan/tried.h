#pragma once

#include <cstdint>
#include <string>

#include "trial/plan.h"

namespace whet {

/// A model takes another one's place when it is faster in the median of this many comparisons, of which it may be no faster in a few.
/// Fewer are made where that is decided before.
inline constexpr std::int64_t kPlanComparisons = 7, kPlanMayBeSlowerIn = 1;

/// Why a plan that was tried in the network was not taken: "1% in the median of seven is asked; it had 0.4%". "" for one that
/// was.
std::string why_not_taken(const TriedPlan&);
/// "0.9960 ms with 2 other kernels, the usual plan 1.0000 ms alternately; not taken: ..."
std::string tried_text(const TriedPlan&);

}  // namespace whet
