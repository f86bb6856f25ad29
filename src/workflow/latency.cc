#include "workflow/latency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "machine/stolen.h"
#include "workflow/opened.h"

namespace whet {
namespace {

Latency describe(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Latency latency{std::move(times)};
  const double count = static_cast<double>(latency.sorted.size());
  latency.mean = std::accumulate(latency.sorted.begin(), latency.sorted.end(), 0.0) / count;
  double squares = 0;
  for (double time : latency.sorted) squares += (time - latency.mean) * (time - latency.mean);
  latency.deviation = std::sqrt(squares / count);
  return latency;
}

/// The fastest of several series.
Result<double> time_back_to_back(OpenedModel& model) {
  constexpr int kSeries = 10, kRuns = 20;
  double fastest = std::numeric_limits<double>::infinity();
  for (int series = 0; series < kSeries; ++series) {
    const double before = model.clock();
    WHET_RETURN_IF_ERROR(model.run_back_to_back(kRuns));
    fastest = std::min(fastest, (model.clock() - before) / kRuns);
  }
  return fastest;
}

}  // namespace

double Latency::percentile(double share) const {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Result<Latency> time_latency(OpenedModel& model, const LatencyOptions& options) {
  WHET_RETURN_IF_ERROR(model.warm_up(options.warmup));
  std::optional<StolenTime> stolen;
  if (!model.is_elsewhere()) stolen.emplace(cores_of(model));
  WHET_TRY(std::vector<double> times, model.time_runs(options.runs, options.seconds));
  Latency latency = describe(std::move(times));
  if (stolen) latency.stolen = stolen->share();
  if (options.on_device) {
    WHET_TRY(latency.back_to_back, time_back_to_back(model));
  }
  return latency;
}

}  // namespace whet
