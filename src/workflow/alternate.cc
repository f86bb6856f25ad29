#include "workflow/alternate.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace whet {
namespace {

constexpr double kPairBurst = 0.05;  ///< seconds of a model in a pair
constexpr int kLeastPairs = 3, kMostRuns = 10000;

Result<double> median_of_burst(OpenedModel& model, int runs) {
  WHET_TRY(std::vector<double> times, model.time_runs(runs, 0));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// As many runs as a burst has.
Result<int> runs_of_burst(OpenedModel& model) {
  WHET_RETURN_IF_ERROR(model.warm_up(2 * kPairBurst));
  WHET_TRY(const double once, median_of_burst(model, 3));
  return static_cast<int>(std::clamp(std::ceil(kPairBurst / std::max(once, 1e-9)), 1.0, double{kMostRuns}));
}

}  // namespace

Result<AlternateTimes> time_alternately(OpenedModel& before, OpenedModel& after, double seconds,
                                        const std::function<bool()>& interrupted) {
  WHET_TRY(const int before_runs, runs_of_burst(before));
  WHET_TRY(const int after_runs, runs_of_burst(after));
  AlternateTimes times;
  const double start = seconds_now();
  for (int pair = 0; pair < kLeastPairs || seconds_now() - start < seconds; ++pair) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    const bool swapped = pair % 2 != 0;
    WHET_TRY(const double first, median_of_burst(swapped ? after : before, swapped ? after_runs : before_runs));
    WHET_TRY(const double second, median_of_burst(swapped ? before : after, swapped ? before_runs : after_runs));
    times.before.push_back(swapped ? second : first);
    times.after.push_back(swapped ? first : second);
  }
  return times;
}

}  // namespace whet
