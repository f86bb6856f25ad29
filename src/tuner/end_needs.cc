#include "tuner/end_needs.h"

#include <algorithm>

#include "plan/tried.h"

namespace whet {
namespace {

/// Wall time of what a compile does once, and the rate at which it packs and writes weights.
constexpr double kLinkSeconds = 0.15, kPackedBytesASecond = 1e8;
/// Of starting a process that opens two models and warms them up, and the rate at which it finds their weights.
constexpr double kOpenSeconds = 0.1, kOpenedBytesASecond = 2e9;
/// A burst of a network.
constexpr double kBurstSeconds = 0.1;
/// Models that settle_in_network compiles and compares: the usual number, with one more that is compared in new processes.
constexpr int kModels = 5, kBursts = 5;
/// Choosing plans, and how many are usually tried in the network.
constexpr double kChoiceSeconds = 0.3;
constexpr int kTriedPlans = 4, kUsualComparisons = 4;

}  // namespace

double compile_seconds(const NetworkSize& size) {
  if (size.compile > 0) return size.compile;
  return size.kernels * size.kernel_seconds / std::max(1, size.builders) + size.weight_bytes / kPackedBytesASecond +
         kLinkSeconds;
}

double comparison_seconds(const NetworkSize& size, const Bursts& bursts) {
  const double burst = std::max(bursts.seconds, size.inference_seconds) + size.inference_seconds;
  return kOpenSeconds + 2 * size.weight_bytes / kOpenedBytesASecond + 2 * bursts.count * burst;
}

Bursts bursts_within(double seconds, const NetworkSize& size, const Bursts& usual, int least, double shortest,
                     int times) {
  const auto fits = [&](const Bursts& bursts) { return times * comparison_seconds(size, bursts) <= seconds; };
  for (Bursts bursts = usual; bursts.count >= least; --bursts.count)
    if (fits(bursts)) return bursts;
  for (Bursts bursts{least, usual.seconds / 2}; bursts.seconds >= shortest; bursts.seconds /= 2)
    if (fits(bursts)) return bursts;
  return fits({least, shortest}) ? Bursts{least, shortest} : Bursts{};
}

PhaseNeed network_need(const NetworkSize& size) {
  const double compile = compile_seconds(size), compared = comparison_seconds(size, {kBursts, kBurstSeconds});
  const double confirmed = compile + kUsualComparisons * compared;
  return {2 * compile + comparison_seconds(size, {kFewBursts, kShortestBurst}),
          kModels * (compile + compared) + confirmed + kRoundsOfTasks * size.kernels * kTaskSeconds};
}

PhaseNeed layouts_need(const NetworkSize& size, double find_seconds) {
  const double compile = compile_seconds(size), chosen = find_seconds + kChoiceSeconds;
  const double compared = comparison_seconds(size, {kBursts, kBurstSeconds});
  return {chosen + 2 * compile + static_cast<double>(kPlanComparisons) * comparison_seconds(size, {1, kShortestBurst}),
          chosen + (1 + kTriedPlans) * compile + kTriedPlans * kUsualComparisons * compared};
}

}  // namespace whet
