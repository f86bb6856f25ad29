#include "tuner/compare_models.h"

#include <algorithm>
#include <vector>

#include "base/arithmetic.h"
#include "tuner/network.h"

namespace whet {
namespace {

constexpr std::size_t kComparisons = 7;
constexpr std::ptrdiff_t kMayLose = 1;

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
  const auto lost = [&] {
    return std::count_if(all.begin(), all.end(), [](const ModelComparison& one) { return one.ratio() >= 1; });
  };
  const auto slow = [&] {
    return std::count_if(all.begin(), all.end(), [&](const ModelComparison& one) { return one.ratio() >= faster; });
  };
  while (all.size() < kComparisons && lost() <= kMayLose && slow() <= std::ptrdiff_t{kComparisons / 2}) {
    WHET_TRY(const ModelComparison one, compare_once(device, usual, other, all.size() % 2 == 1, run));
    all.push_back(one);
  }
  std::sort(all.begin(), all.end(),
            [](const ModelComparison& a, const ModelComparison& b) { return a.ratio() < b.ratio(); });
  const ModelComparison& middle = all[all.size() / 2];
  return ModelVerdict{middle, all.size(), lost() <= kMayLose && middle.ratio() < faster};
}

}  // namespace whet
