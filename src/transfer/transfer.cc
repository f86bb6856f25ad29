#include "transfer/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compute/anchor.h"
#include "cost/features.h"

namespace whet {
namespace {

/// What an unmeasured transfer must promise. The constants lie on plateaus (gains of 1.10 to 1.22, estimates of 1.3 to 1.6, distances
/// of 4 to 10), found with 13 networks, each left out of its own base; bench/base measures what they bring.
constexpr double kLeastGain = 1.22, kMostAnalytic = 1.3, kMostDistance = 8;

/// A chain is hoped for where this many of the nearest gained this much.
constexpr std::size_t kNearestChains = 3, kMostEntriesOfChains = 64;
constexpr double kLeastGainOfChains = 1.15;

double weight_of(const NearEntry& near) { return 1 / ((1 + near.distance) * (1 + near.distance)); }

std::string from_text(const NearEntry& near, const RecordBase& base) {
  return fmt::format("{} of {}'s {}", near.entry->candidate.sketch, base.origins()[near.entry->origin].network,
                     describe(near.task->anchor));
}

/// The sources of one schedule.
struct Sources {
  Transfer transfer;
  double weights = 0, weighted_log_gain = 0;

  /// What this kind of machine says is enough: other machines count where it says nothing. The nearest source comes first.
  void add(const NearEntry& near, const RecordBase& base) {
    if (transfer.own && !near.own) return;
    if (near.own && !transfer.own) weights = weighted_log_gain = 0;
    transfer.own = near.own;
    if (weights == 0) transfer.from = from_text(near, base), transfer.distance = near.distance;
    const double weight = weight_of(near);
    weights += weight;
    weighted_log_gain += weight * std::log(near.entry->gain);
  }
};

/// The candidate's schedule with its estimate; nothing where it cannot be replayed.
std::optional<Sources> sources_of(const DesignSpace& space, const Candidate& candidate, const Target& target) {
  Result<Scheduled> scheduled = space.schedule(candidate);
  if (!scheduled.ok()) return std::nullopt;
  Sources sources;
  sources.transfer.candidate = candidate;
  sources.transfer.steps = to_text(scheduled->steps);
  sources.transfer.own = false;
  sources.transfer.numerics = numerics_of(scheduled->steps);
  sources.transfer.analytic = analytic_seconds(scheduled->tree, target);
  return sources;
}

}  // namespace

std::vector<Transfer> transfers(const ComputeDag& dag, const DesignSpace& space, const Target& target,
                                const RecordBase& base) {
  const std::optional<Anchor> anchor = anchor_of(dag);
  if (!anchor) return {};
  const std::vector<NearEntry> near = base.near(*anchor, target, kMostSources);
  if (near.empty()) return {};
  const std::optional<Sources> usual = sources_of(space, space.default_candidate(), target);
  if (!usual) return {};

  std::map<Candidate, std::optional<std::string>> schedules;  // of candidates; nothing where they have none
  std::map<std::string, Sources> found;                       // by schedule
  for (const NearEntry& each : near) {
    const std::optional<Candidate> candidate = space.refit(each.entry->candidate, each.entry->extents);
    if (!candidate) continue;
    const auto [at, is_new] = schedules.try_emplace(*candidate);
    if (is_new)
      if (std::optional<Sources> sources = sources_of(space, *candidate, target)) {
        at->second = sources->transfer.steps;
        found.try_emplace(*at->second, std::move(*sources));
      }
    if (at->second) found.at(*at->second).add(each, base);
  }

  std::vector<Transfer> list;
  for (auto& [steps, sources] : found) {
    if (steps == usual->transfer.steps) continue;
    Transfer& transfer = sources.transfer;
    transfer.gain = std::exp(sources.weighted_log_gain / sources.weights);
    transfer.analytic = usual->transfer.analytic > 0 ? transfer.analytic / usual->transfer.analytic : 1;
    list.push_back(std::move(transfer));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &Transfer::gain);
  return list;
}

std::optional<double> chain_gain(const ComputeDag& chain, const Target& target, const RecordBase& base) {
  const std::optional<Anchor> anchor = anchor_of(chain);
  if (!anchor) return std::nullopt;
  std::vector<const BaseTask*> nearest;
  double weights = 0, weighted_log_gain = 0;
  for (const NearEntry& near : base.near(*anchor, target, kMostEntriesOfChains)) {
    if (!near.own || near.task->over_parts == 0 || std::ranges::count(nearest, near.task) > 0) continue;
    nearest.push_back(near.task);
    const double weight = weight_of(near);
    weights += weight, weighted_log_gain += weight * std::log(near.task->over_parts);
    if (nearest.size() == kNearestChains) break;
  }
  if (nearest.size() < kNearestChains) return std::nullopt;
  const double gain = std::exp(weighted_log_gain / weights);
  return gain >= kLeastGainOfChains ? std::optional(gain) : std::nullopt;
}

std::string why_not_unmeasured(const Transfer& transfer) {
  const auto percent = [](double ratio) { return 100 * (ratio - 1); };
  if (!transfer.own) return "its sources were measured on other kinds of machines";
  if (transfer.gain < kLeastGain)
    return fmt::format("its sources gained {:.0f}% on average, {:.0f}% are asked for", percent(transfer.gain),
                       percent(kLeastGain));
  if (transfer.analytic > kMostAnalytic)
    return fmt::format("its estimate is {:.2f} times the default schedule's, {:.2f} are allowed", transfer.analytic,
                       kMostAnalytic);
  if (transfer.distance > kMostDistance)
    return fmt::format("its nearest source is {:.1f} away, {:.0f} are allowed", transfer.distance, kMostDistance);
  return "";
}

const Transfer* without_measuring(std::span<const Transfer> list) {
  const Transfer* best = nullptr;
  for (const Transfer& each : list)
    if (why_not_unmeasured(each).empty() && (best == nullptr || each.gain > best->gain)) best = &each;
  return best;
}

std::vector<Transfer> worth_timing(std::vector<Transfer> list, std::size_t n) {
  std::ranges::stable_sort(list, std::ranges::greater(), &Transfer::gain);
  for (std::size_t place = 1; place < std::min(n, list.size()); place += 2) {
    const auto rest = list.begin() + static_cast<std::ptrdiff_t>(place);
    const auto least = std::ranges::min_element(rest, list.end(), {}, &Transfer::analytic);
    std::rotate(rest, least, least + 1);
  }
  if (list.size() > n) list.resize(n);
  return list;
}

}  // namespace whet
