#include "plan/tried.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/spread.h"
#include "plan/plan.h"

namespace whet {

namespace {

std::string megabytes(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

}  // namespace

std::string four_decimals_of_ms(double seconds) { return fmt::format("{:.4f} ms", seconds * 1e3); }

double needed_ratio(std::int64_t bytes, std::int64_t other_bytes, double usual) {
  constexpr double kEqual = 1.02, kSmaller = 0.9;
  const double own = static_cast<double>(bytes), other = static_cast<double>(other_bytes);
  if (own <= 0 || other <= 0) return usual;
  if (own <= kSmaller * other) return kEqual;
  return other <= kSmaller * own ? std::min(usual, 1 / kEqual) : usual;
}

std::string why_not_taken(const TriedPlan& tried, const TimeText& text_of) {
  if (tried.adopted || !(tried.network_seconds > 0) || !(tried.usual_network_seconds > 0)) return "";
  if (is_far_above(tried.most_usual, tried.least_usual))
    return fmt::format(
        "nothing is concluded, since the usual plan alone took {} to {}: another program ran, or the "
        "machine is "
        "shared (whet doctor)",
        text_of(tried.least_usual), text_of(tried.most_usual));
  const double ratio = tried.network_seconds / tried.usual_network_seconds, percent = 100 * std::abs(1 - ratio);
  const std::string had =
      ratio < 1 ? fmt::format("it had {:.1f}%", percent) : fmt::format("it was {:.1f}% slower", percent);
  const double needed = needed_ratio(tried.weights_bytes, tried.usual_weights_bytes, kFasterPlan);
  if (ratio >= needed)
    return fmt::format("{} in the median of seven is asked{}; {}{}",
                       needed > 1 ? fmt::format("no more than {:.0f}% longer", 100 * (needed - 1))
                                  : fmt::format("{:.0f}%", 100 * (1 - needed)),
                       needed > 1             ? " of a smaller library"
                       : needed < kFasterPlan ? " of a larger library"
                                              : "",
                       had,
                       tried.comparisons > 0 && tried.comparisons < kPlanComparisons
                           ? fmt::format(" when {} had decided", tried.comparisons)
                           : "");
  if (tried.slower > kPlanMayBeSlowerIn)
    return fmt::format("it may be no faster in one comparison; it was so in {} of {}", tried.slower, tried.comparisons);
  return "another plan was faster still";
}

std::string tried_text(const TriedPlan& tried, const TimeText& text_of) {
  const std::string why = why_not_taken(tried, text_of);
  const bool sizes = tried.weights_bytes > 0 && tried.usual_weights_bytes > 0;
  return fmt::format("{} with {}{}, the usual plan {} alternately{}{}", text_of(tried.network_seconds),
                     counted(tried.kernels, "other kernel"),
                     sizes ? " and " + megabytes(tried.weights_bytes) + " of weights" : "",
                     text_of(tried.usual_network_seconds), sizes ? " with " + megabytes(tried.usual_weights_bytes) : "",
                     tried.adopted ? ": adopted"
                     : why.empty() ? ""
                                   : "; not taken: " + why);
}

}  // namespace whet
