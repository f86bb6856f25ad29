#include "tuner/compare_models.h"

#include <algorithm>
#include <vector>

#include "base/arithmetic.h"
#include "plan/tried.h"
#include "tuner/network.h"

namespace whet {
namespace {

double best_burst(const ModelTimes& times) {
  double seconds = kInfinity;
  for (const ModelBurst& burst : times.bursts) seconds = std::min(seconds, burst.median);
  return seconds;
}

Result<ModelComparison> compare_once(Device& device, const ModelLibrary& usual, const ModelLibrary& other,
                                     bool other_first, const ModelRun& run) {
  (void)device.time_models({}, {});  // else the models stay where they are
  const std::vector<ModelLibrary> files =
      other_first ? std::vector<ModelLibrary>{other, usual} : std::vector<ModelLibrary>{usual, other};
  WHET_TRY(const std::vector<ModelTimes> times, device.time_models(files, run));
  if (!make_sense(times, 2, run.bursts)) return Error{"the device's times of the models make no sense"};
  return ModelComparison{best_burst(times[other_first ? 1 : 0]), best_burst(times[other_first ? 0 : 1])};
}

}  // namespace

Result<ModelVerdict> compare_in_new_processes(Device& device, const ModelLibrary& usual, const ModelLibrary& other,
                                              const ModelRun& run, double faster) {
  std::vector<ModelComparison> all;
  const double lost_at = std::max(1.0, faster);
  const auto lost = [&] { return std::ranges::count_if(all, [&](const auto& one) { return one.ratio() >= lost_at; }); };
  const auto slow = [&] { return std::ranges::count_if(all, [&](const auto& one) { return one.ratio() >= faster; }); };
  while (std::ssize(all) < kPlanComparisons && lost() <= kPlanMayBeSlowerIn && slow() <= kPlanComparisons / 2) {
    WHET_TRY(const ModelComparison one, compare_once(device, usual, other, all.size() % 2 == 1, run));
    all.push_back(one);
  }
  std::ranges::sort(all, {}, &ModelComparison::ratio);
  const auto [least, most] = std::ranges::minmax(all, {}, &ModelComparison::usual);
  ModelVerdict verdict{all[all.size() / 2], std::ssize(all), lost(), false, least.usual, most.usual};
  verdict.faster = lost() <= kPlanMayBeSlowerIn && verdict.middle.ratio() < faster && !verdict.noisy();
  return verdict;
}

}  // namespace whet
