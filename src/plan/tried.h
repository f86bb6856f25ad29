#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trial/plan.h"

namespace whet {

/// A model replaces another one when it is faster in the median of kPlanComparisons comparisons, and slower in at most
/// kPlanMayBeSlowerIn of them. Comparisons end as soon as that is decided.
inline constexpr std::int64_t kPlanComparisons = 7, kPlanMayBeSlowerIn = 1;

/// The ratio of times below which a model takes another one's place. Times within 2% are equal, and of equal ones the smaller library
/// wins, if it is smaller by a tenth.
///   bytes, other_bytes  of weights; 0: not known
///   usual               of libraries of one size
double needed_ratio(std::int64_t bytes, std::int64_t other_bytes, double usual);

/// How a time of a network is written.
using TimeText = std::function<std::string(double seconds)>;
/// "0.9960 ms"
std::string four_decimals_of_ms(double seconds);

/// Why a plan that was tried in the network was not taken: "1% in the median of seven is asked; it had 0.4%". "" for one that
/// was.
std::string why_not_taken(const TriedPlan&, const TimeText& = four_decimals_of_ms);
/// "0.9960 ms with 2 other kernels, the usual plan 1.0000 ms alternately; not taken: ..."
std::string tried_text(const TriedPlan&, const TimeText& = four_decimals_of_ms);

}  // namespace whet
