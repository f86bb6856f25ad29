#include "report/sane.h"

#include <algorithm>
#include <cmath>

namespace whet {
namespace {

constexpr double kLeast = 1e-12, kMost = 1e12;

bool is_sane(double value) { return std::isfinite(value) && value >= kLeast && value <= kMost; }

template <typename... Numbers>
void zero_unless_sane(Numbers&... numbers) {
  ((numbers = is_sane(numbers) ? numbers : 0), ...);
}

template <typename... Numbers>
void none_unless_sane(Numbers&... numbers) {
  ((numbers = is_sane(numbers) ? numbers : std::numeric_limits<double>::infinity()), ...);
}

void clean(ReportTask& task) {
  none_unless_sane(task.default_seconds, task.best_seconds);
  zero_unless_sane(task.flops, task.bytes, task.limit_seconds);
  for (ReportTrial& trial : task.trials) {
    none_unless_sane(trial.seconds);
    zero_unless_sane(trial.at, trial.spent);
  }
}

/// Stretches of steps and workers that there are, each after the one before.
void clean(ReportProfile& profile) {
  zero_unless_sane(profile.seconds);
  for (ReportStep& step : profile.steps) zero_unless_sane(step.seconds, step.predicted_seconds);
  for (double& end : profile.ends) zero_unless_sane(end);
  const bool fits = profile.ends.size() == profile.steps.size() && std::ranges::is_sorted(profile.ends);
  if (!fits) profile.stretches.clear(), profile.ends.clear();
  std::erase_if(profile.stretches, [&](const ReportStretch& stretch) {
    const bool is_there = stretch.step < profile.steps.size() && stretch.worker < profile.workers.size();
    return !is_there || !(stretch.begin >= 0) || !(stretch.begin <= stretch.end) ||
           !(stretch.end <= profile.ends.back());
  });
}

void clean(ReportPrecision& precision) {
  PlanPrecision& plan = precision.plan;
  zero_unless_sane(plan.share, plan.held_out_share, plan.error, plan.held_out_error, plan.budget,
                   precision.network_seconds, precision.usual_network_seconds);
  plan.calibration = std::max<std::int64_t>(0, plan.calibration);
  plan.held_out = std::max<std::int64_t>(0, plan.held_out);
  for (LayerPrecision& layer : precision.layers) {
    zero_unless_sane(layer.seconds, layer.usual_seconds, layer.share);
    if (layer.error) zero_unless_sane(*layer.error);
    for (LoweredWay& way : layer.ways) zero_unless_sane(way.seconds);
  }
}

void clean(ReportPlan& plan) {
  plan.seconds = plan.excess = 0;
  for (ReportKernel& kernel : plan.kernels) {
    zero_unless_sane(kernel.seconds, kernel.excess, kernel.usual_seconds, kernel.usual_excess);
    kernel.excess = std::min(kernel.excess, kernel.seconds);
    kernel.usual_excess = std::min(kernel.usual_excess, kernel.usual_seconds);
    plan.seconds += kernel.seconds, plan.excess += kernel.excess;
  }
}

}  // namespace

ReportData sane_report(ReportData data) {
  ReportNetwork& network = data.network;
  zero_unless_sane(network.untuned_seconds, network.tuned_seconds, network.fastest_seconds);
  MachineRates& rates = data.rates;
  zero_unless_sane(rates.gflops, rates.l1_gbs, rates.l2_gbs, rates.l3_gbs, rates.memory_gbs);
  for (ReportTask& task : data.tasks) clean(task);
  clean(data.profile);
  ReportLayouts& layouts = data.layouts;
  for (ReportPlan* plan : {&layouts.chosen, &layouts.runner_up, &layouts.usual}) clean(*plan);
  for (ReportCover& cover : layouts.covers) none_unless_sane(cover.seconds, cover.usual_seconds);
  clean(data.precision);
  zero_unless_sane(layouts.bound_seconds, layouts.network_seconds, layouts.usual_network_seconds);
  for (NetworkAtSizes& network : data.at_sizes)
    for (TimedAtSizes& point : network.points) zero_unless_sane(point.share, point.untuned, point.ranged, point.exact);
  for (ReportDevice& device : data.devices)
    zero_unless_sane(device.ghz_low, device.ghz_high, device.celsius_high, device.busy_seconds, device.factor);
  std::erase_if(data.paces, [](const ReportPace& pace) { return !is_sane(pace.pace) || !std::isfinite(pace.at); });
  for (ReportPace& pace : data.paces) zero_unless_sane(pace.at);
  for (ReportPhase& phase : data.phases) zero_unless_sane(phase.seconds);
  zero_unless_sane(data.build_seconds, data.run_seconds, data.tuned_for_seconds);
  return data;
}

}  // namespace whet
