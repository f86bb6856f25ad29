#include "tuner/champion.h"

#include <algorithm>

namespace whet {
namespace {

/// So much longer than the champion's is a challenger's first burst that a second one is not worth its time.
constexpr double kClearLead = 1.01;
/// How often a best schedule that seems slower is timed again, as long as each time it is faster; and the largest pace that
/// counts. A larger ratio is noise that other candidates may not have seen.
constexpr int kSecondLooks = 3;
constexpr double kSlowestPace = 2;

/// Adds the figures of the same schedules timed once more; outcomes that were interrupted are left out. Those of a placement that the
/// processors have left meanwhile count no more.
void add_figures(std::vector<Outcome>& seen, const std::vector<Outcome>& more) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].ok()) continue;
    if (more[i].ok() && !differ(seen[i].placement, more[i].placement))
      seen[i].seconds.insert(seen[i].seconds.end(), more[i].seconds.begin(), more[i].seconds.end());
    else if (more[i].code != OutcomeCode::device_lost)
      seen[i] = more[i];
  }
}

}  // namespace

std::vector<Outcome> Contest::compare(const MeasureTask& task, const std::vector<std::string>& steps,
                                      const std::optional<Champion>& champion, int bursts) {
  const RunLog::Timed timed(log_, log_.phases.confirm);
  std::vector<Outcome> seen = time(task, steps, bursts);
  return champion ? with_pace(task, steps, *champion, bursts, std::move(seen)) : seen;
}

std::vector<Outcome> Contest::challenge(const MeasureTask& task, const std::vector<std::string>& steps,
                                        const Champion& champion) {
  const RunLog::Timed timed(log_, log_.phases.confirm);
  std::vector<Outcome> seen = time(task, steps, 1);
  const auto is_behind = [&](const Outcome& challenger) {
    return !challenger.ok() || challenger.best_seconds() > kClearLead * seen.back().best_seconds();
  };
  if (!std::all_of(seen.begin(), seen.end() - 1, is_behind)) add_figures(seen, time(task, steps, 1));
  return with_pace(task, steps, champion, 1, std::move(seen));
}

std::vector<Outcome> Contest::alone(const MeasureTask& task, const std::string& steps, double expected) {
  const RunLog::Timed timed(log_, log_.phases.confirm);
  std::vector<Outcome> seen = time(task, {steps}, kPaceBursts);
  look_again(task, {steps}, kPaceBursts, 0, expected, seen);
  return seen;
}

std::vector<Outcome> Contest::with_pace(const MeasureTask& task, const std::vector<std::string>& steps,
                                        const Champion& champion, int bursts, std::vector<Outcome> seen) {
  const auto at = std::find(steps.begin(), steps.end(), champion.steps);
  if (at == steps.end()) return seen;
  const std::size_t k = static_cast<std::size_t>(at - steps.begin());
  const auto has_moved = [&] { return differ(champion.placement, seen[k].placement); };
  const bool decides = is_deciding(seen[k]);
  if (decides && !has_moved()) look_again(task, steps, bursts, k, champion.seconds, seen);
  if (!seen[k].ok() || has_moved()) return seen;
  double now = seen[k].best_seconds() / champion.seconds;
  if (decides) now = std::min(now, kSlowestPace);
  if (now > 0)
    for (Outcome& outcome : seen) outcome.pace = now;
  return seen;
}

std::vector<Outcome> Contest::time(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) {
  std::vector<Outcome> seen = measurer_.compare(task, steps, bursts);
  for (const Outcome& outcome : seen) log_.see(outcome);
  return seen;
}

/// Adds figures to those `seen` as long as schedule `k` took longer than `expected` and gets faster by it: what
/// disturbs a machine for milliseconds is not its pace.
void Contest::look_again(const MeasureTask& task, const std::vector<std::string>& steps, int bursts, std::size_t k,
                         double expected, std::vector<Outcome>& seen) {
  for (int look = 0; look < kSecondLooks && !log_.interrupted(); ++look) {
    const double before = seen[k].best_seconds();
    if (!seen[k].ok() || before <= (1 + kSteady) * expected) return;
    const ProcessorPlacement placement = seen[k].placement;
    add_figures(seen, time(task, steps, bursts));
    if (seen[k].best_seconds() > (1 - kSteady) * before || differ(placement, seen[k].placement)) return;
  }
}

}  // namespace whet
