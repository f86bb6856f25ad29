#pragma once

#include <cstdint>
#include <string>

#include "trial/plan.h"

namespace whet {

/// A model replaces another one when it is faster in the median of kPlanComparisons comparisons, and slower in at most
/// kPlanMayBeSlowerIn of them. Comparisons end as soon as that is decided.
inline constexpr std::int64_t kPlanComparisons = 7, kPlanMayBeSlowerIn = 1;

/// Why a plan that was tried in the network was not taken: "1% in the median of seven is asked; it had 0.4%". "" for one that
/// was.
std::string why_not_taken(const TriedPlan&);
/// "0.9960 ms with 2 other kernels, the usual plan 1.0000 ms alternately; not taken: ..."
std::string tried_text(const TriedPlan&);

}  // namespace whet
