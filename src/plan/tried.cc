#include "plan/tried.h"

#include <fmt/format.h>

#include <cmath>

#include "base/counted.h"
#include "base/spread.h"
#include "plan/plan.h"

namespace whet {

std::string why_not_taken(const TriedPlan& tried) {
  if (tried.adopted || !(tried.network_seconds > 0) || !(tried.usual_network_seconds > 0)) return "";
  if (is_far_above(tried.most_usual, tried.least_usual))
    return fmt::format(
        "nothing is concluded, since the usual plan alone took {:.4g} to {:.4g} ms: another program ran, or the "
        "machine is "
        "shared (whet doctor)",
        tried.least_usual * 1e3, tried.most_usual * 1e3);
  const double ratio = tried.network_seconds / tried.usual_network_seconds, percent = 100 * std::abs(1 - ratio);
  const std::string had =
      ratio < 1 ? fmt::format("it had {:.1f}%", percent) : fmt::format("it was {:.1f}% slower", percent);
  if (ratio >= kFasterPlan)
    return fmt::format("{:.0f}% in the median of seven is asked; {}{}", 100 * (1 - kFasterPlan), had,
                       tried.comparisons > 0 && tried.comparisons < kPlanComparisons
                           ? fmt::format(" when {} had decided", tried.comparisons)
                           : "");
  if (tried.slower > kPlanMayBeSlowerIn)
    return fmt::format("it may be no faster in one comparison; it was so in {} of {}", tried.slower, tried.comparisons);
  return "another plan was faster still";
}

std::string tried_text(const TriedPlan& tried) {
  const std::string why = why_not_taken(tried);
  return fmt::format("{:.4f} ms with {}, the usual plan {:.4f} ms alternately{}", tried.network_seconds * 1e3,
                     counted(tried.kernels, "other kernel"), tried.usual_network_seconds * 1e3,
                     tried.adopted ? ": adopted"
                     : why.empty() ? ""
                                   : "; not taken: " + why);
}

}  // namespace whet
