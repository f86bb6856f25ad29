#include "workflow/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/bandwidth.h"
#include "machine/detect.h"
#include "target/gpu_rates.h"

namespace whet {
namespace {

/// A bandwidth that would have to be this much higher is wrong for the task.
constexpr double kDisproved = 1.05;

}  // namespace

RatesMeasurement::RatesMeasurement(TargetOnCores place) : place_(std::move(place)) {
  if (!place_.target.is_cpu() || !can_run(place_.target).ok()) return;
  if (Result<PeakBurst> burst = PeakBurst::compile(place_.target); burst.ok()) burst_.emplace(std::move(*burst));
  if (!place_.target.cpu().bf16_products) return;
  if (Result<PeakBurst> pairs = PeakBurst::compile(place_.target, DType::bf16); pairs.ok())
    pairs_.emplace(std::move(*pairs));
}

MachineRates RatesMeasurement::measure() const {
  MachineRates rates;
  const Target& target = place_.target;
  if (target.is_gpu()) return data_sheet_rates(target.gpu());
  const auto threads = static_cast<std::int64_t>(place_.cores.cpus.size());
  if (burst_) rates.gflops = burst_->measure(place_.cores.cpus);
  if (pairs_) rates.bf16_gflops = pairs_->measure(place_.cores.cpus);
  rates.l1_bytes = target.cpu().l1_bytes * threads;
  rates.l2_bytes = target.cpu().l2_bytes * threads;
  rates.l3_bytes = target.cpu().l3_bytes;
  for (const Bandwidth& level : measure_bandwidth(target, place_.cores.cpus)) {
    if (level.level == "L1") rates.l1_gbs = level.gb_per_second;
    if (level.level == "L2") rates.l2_gbs = level.gb_per_second;
    if (level.level == "L3") rates.l3_gbs = level.gb_per_second;
    if (level.level == "memory") rates.memory_gbs = level.gb_per_second;
  }
  return rates;
}

MachineRates measure_rates(const TargetOnCores& place) { return RatesMeasurement(place).measure(); }

MachineRates better_of(const MachineRates& a, const MachineRates& b) {
  MachineRates best = a;
  best.gflops = std::max(a.gflops, b.gflops);
  best.bf16_gflops = std::max(a.bf16_gflops, b.bf16_gflops);
  best.l1_gbs = std::max(a.l1_gbs, b.l1_gbs);
  best.l2_gbs = std::max(a.l2_gbs, b.l2_gbs);
  best.l3_gbs = std::max(a.l3_gbs, b.l3_gbs);
  best.memory_gbs = std::max(a.memory_gbs, b.memory_gbs);
  return best;
}

const Limit* holding_limit(const std::vector<Limit>& limits, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) return nullptr;
  const auto stands = [&](const Limit& limit) {
    return limit.seconds <= (limit.what == "compute" ? kMostOfPeak : kDisproved) * seconds;
  };
  const auto found = std::find_if(limits.begin(), limits.end(), stands);
  return found == limits.end() ? nullptr : &*found;
}

std::string held_by(const std::vector<Limit>& limits, double seconds) {
  const Limit* limit = holding_limit(limits, seconds);
  return limit ? fmt::format("{} {:.0f}%", limit->what, 100 * limit->seconds / seconds) : "";
}

}  // namespace whet
