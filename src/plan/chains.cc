#include "plan/chains.h"

#include <algorithm>
#include <map>
#include <set>

#include "alternatives/chain.h"

namespace whet {
namespace {

/// Of all alternatives the usual ones and the chains whose gain is known, and that gain.
struct Chains {
  Alternatives offered;
  std::map<std::size_t, double> gains;  ///< by number in `offered.all`
};

Chains known_chains(const Alternatives& alternatives, const ChainGain& gain) {
  Chains chains;
  std::map<int, int> kept;  // numbers of tasks there
  const auto offer = [&](Alternative alternative) {
    if (alternative.task >= 0) {
      const auto [task, is_new] = kept.try_emplace(alternative.task, static_cast<int>(kept.size()));
      if (is_new) chains.offered.tasks.push_back(alternatives.tasks[static_cast<std::size_t>(alternative.task)]);
      alternative.task = task->second;
    }
    chains.offered.all.push_back(std::move(alternative));
  };
  chains.offered.usual = alternatives.usual;
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const Alternative& alternative = alternatives.all[a];
    if (a < alternatives.usual) {
      offer(alternative);
    } else if (names_chain(alternative.name)) {
      const std::optional<double> known = gain(alternatives.tasks[static_cast<std::size_t>(alternative.task)]);
      if (!known) continue;
      chains.gains[chains.offered.all.size()] = *known;
      offer(alternative);
    }
  }
  return chains;
}

/// Prices each chain that nobody measured by its groups. Gives those of which a group was measured: what is expected of a chain
/// does not replace what was timed.
std::vector<int> price_chains(const Chains& chains, std::vector<Price>& prices) {
  std::map<int, double> groups;
  std::set<int> measured;
  for (std::size_t a = 0; a < chains.offered.usual; ++a) {
    const int group = chains.offered.all[a].group;
    groups[group] += prices[a].seconds;
    if (prices[a].kind == PriceKind::measured) measured.insert(group);
  }
  std::vector<int> refused;
  for (const auto& [number, gain] : chains.gains) {
    if (prices[number].kind == PriceKind::measured) continue;
    const std::vector<int>& instead = chains.offered.all[number].instead;
    prices[number].seconds = 0;
    for (const int group : instead) prices[number].seconds += groups[group] / gain;
    if (std::ranges::any_of(instead, [&](int group) { return measured.contains(group); }))
      refused.push_back(static_cast<int>(number));
  }
  return refused;
}

}  // namespace

Result<std::optional<PlannedNetwork>> with_chains(const FusedGraph& fused, const Records& records, const Target& target,
                                                  const SpaceOptions& schedules, const ChainGain& gain) {
  const std::optional<PlannedNetwork> nothing;
  if (!target.is_cpu() || find_chains(fused).empty()) return nothing;
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {}));
  const Chains chains = known_chains(alternatives, gain);
  if (chains.gains.empty()) return nothing;
  std::vector<Price> prices = prices_of(chains.offered, records, target, {.schedules = schedules});
  PlanOptions choice;
  choice.forbidden = price_chains(chains, prices);
  WHET_TRY(const NetworkPlans plans, best_plans(fused, chains.offered, prices, choice));
  const NetworkPlan& best = plans.best.front();
  std::vector<PlannedKernel> kernels = kernels_of(fused, chains.offered, best);
  if (kernels.empty() || best.seconds >= kFasterUnconfirmedPlan * plans.usual.seconds) return nothing;
  WHET_TRY(FusedGraph network, assemble(fused, chains.offered, best.alternatives));
  PlannedNetwork planned{std::move(network)};
  planned.kernels = std::move(kernels);
  planned.seconds = best.seconds, planned.usual_seconds = plans.usual.seconds;
  return std::optional(std::move(planned));
}

}  // namespace whet
