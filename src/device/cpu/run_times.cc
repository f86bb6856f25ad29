#include "device/cpu/run_times.h"

#include <algorithm>

namespace whet {

UsualRun mean_run(const whet_profile& profile) {
  const auto mean = [&](std::uint64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(1, profile.runs));
  };
  UsualRun run{mean(profile.total_ns), {}};
  for (std::uint32_t i = 0; i < profile.steps; ++i) run.step_ns.push_back(mean(profile.step[i].total_ns));
  return run;
}

void RunTimes::Times::take(std::uint64_t new_sum) {
  ns.push_back(static_cast<double>(new_sum - sum));
  sum = new_sum;
}

double RunTimes::Times::median() const {
  if (ns.empty()) return 0;
  std::vector<double> sorted = ns;
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void RunTimes::take(const whet_profile& profile) {
  constexpr std::size_t kMost = 4096, kMostFigures = 1 << 22;
  const std::size_t most =
      std::min(kMost, std::max<std::size_t>(64, kMostFigures / std::max<std::size_t>(1, profile.steps)));
  if (whole_.ns.size() >= most) return;
  steps_.resize(profile.steps);
  whole_.take(profile.total_ns);
  for (std::uint32_t i = 0; i < profile.steps; ++i) steps_[i].take(profile.step[i].total_ns);
}

UsualRun RunTimes::usual() const {
  UsualRun run{whole_.median(), {}};
  for (const Times& step : steps_) run.step_ns.push_back(step.median());
  return run;
}

}  // namespace whet
