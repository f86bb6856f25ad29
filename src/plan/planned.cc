#include <fmt/format.h>

#include <set>
#include <utility>

#include "plan/plan.h"
#include "plan/uniform_plan.h"

namespace whet {
namespace {

/// A plan of kernels that were all measured, and the network that runs it.
struct Solved {
  FusedGraph fused;
  std::vector<PlannedKernel> kernels;
  double seconds = 0, usual_seconds = 0;
};

/// Where nobody measured a task that is not one of the network's own, there is nothing to choose.
bool has_others(const std::vector<Task>& usual, const Records& records) {
  std::set<std::string> own;
  for (const Task& task : usual) own.insert(task.key);
  return std::any_of(records.keys().begin(), records.keys().end(),
                     [&](const std::string& key) { return !own.contains(key); });
}

/// The cache mode that the network's own kernels were timed in; "" where nobody timed them.
std::string cache_of(const std::vector<Task>& usual, const Records& records, const Target& target) {
  for (const Task& task : usual)
    if (const auto best = records.best(task.key, task.within, target)) return best->record->outcome.cache;
  return "";
}

/// Nothing where a usual kernel was not measured: the sums would not compare.
std::optional<PlanOptions> measured_only(const Alternatives& alternatives, const std::vector<Price>& prices) {
  PlanOptions options;
  for (std::size_t a = 0; a < prices.size(); ++a) {
    if (prices[a].kind != PriceKind::estimated) continue;
    if (a < alternatives.usual) return std::nullopt;
    options.forbidden.push_back(static_cast<int>(a));
  }
  return options;
}

/// Nothing where the usual plan stays.
Result<std::optional<Solved>> solve(const FusedGraph& fused, const Records& records, const Target& target,
                                    const SpaceOptions& schedules) {
  const std::optional<Solved> nothing;
  if (!target.is_cpu()) return nothing;
  WHET_TRY(const std::vector<Task> usual, extract_tasks(fused, target));
  const std::string cache = cache_of(usual, records, target);
  if (cache.empty() || !has_others(usual, records)) return nothing;
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {forms_for(target)}));
  const std::vector<Price> prices =
      prices_of(alternatives, records, target, {.schedules = schedules, .cache = cache, .guess = false});
  const std::optional<PlanOptions> options = measured_only(alternatives, prices);
  if (!options) return nothing;
  WHET_TRY(const NetworkPlans plans, best_plans(fused, alternatives, prices, *options));
  const NetworkPlan& best = plans.best.front();
  std::vector<PlannedKernel> kernels = kernels_of(fused, alternatives, best);
  if (kernels.empty() || best.seconds >= kFasterUnconfirmedPlan * plans.usual.seconds) return nothing;
  WHET_TRY(FusedGraph network, assemble(fused, alternatives, best.alternatives));
  return std::optional(Solved{std::move(network), std::move(kernels), best.seconds, plans.usual.seconds});
}

Result<FusedGraph> applied(const FusedGraph& fused, const Plan& line, const Target& target) {
  if (line.kernels.empty()) return fused;
  AlternativeOptions options{.lowered = lowered_of(line.kernels)};
  WHET_TRY(options.forms, forms_of(line.kernels));
  options.padded = options.forms;
  if (line.precision) options.ranges = line.precision->ranges;
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, options));
  WHET_TRY(const NetworkPlan found, find_plan(fused, alternatives, line.kernels));
  return assemble(fused, alternatives, found.alternatives);
}

}  // namespace

Result<PlannedNetwork> planned(const FusedGraph& fused, const Records& records, const Target& target,
                               const SpaceOptions& schedules) {
  PlannedNetwork network{fused};
  if (const Plan* line = records.plan_for(hash_of(fused), to_string(target))) {
    Result<FusedGraph> result = applied(fused, *line, target);
    if (result.ok()) {
      network.fused = std::move(*result);
      network.kernels = line->kernels, network.line = line;
      return network;
    }
    network.note = "the records' plan does not count: " + result.error().message;
  }
  WHET_TRY(std::optional<Solved> solved, solve(fused, records, target, schedules));
  if (!solved) return network;
  network.fused = std::move(solved->fused), network.kernels = std::move(solved->kernels);
  network.seconds = solved->seconds, network.usual_seconds = solved->usual_seconds;
  return network;
}

namespace {

/// The line, where its constants are the network's; else the note says what is missing.
const Plan* line_of_these_weights(const Plan* line, const FusedGraph& fused, std::string_view uniform,
                                  std::string& note) {
  if (line == nullptr) {
    note = fmt::format(
        "the records have no plan in {} for this network and target: whet tune --precision {} --samples S{} {}",
        uniform.empty() ? "fewer bits" : "bytes", precision_word(uniform), uniform.empty() ? " --max-error E" : "",
        uniform.empty() ? "looks for one" : "makes one");
    return nullptr;
  }
  const std::string weights = hash_of_constants(fused);
  if (weights == line->precision->weights) return line;
  note = "the records' plan in fewer bits is of other weights (hash " + line->precision->weights + ", these " +
         weights + "): tune again with --samples";
  return nullptr;
}

}  // namespace

const Plan* last_lowered_line(const FusedGraph& fused, const Records& records, const Target& target,
                              std::string& note) {
  return line_of_these_weights(records.last_lowered_plan_for(hash_of(fused), to_string(target)), fused, "", note);
}

Result<PlannedNetwork> planned_lowered(const FusedGraph& fused, const Records& records, const Target& target,
                                       std::string_view uniform) {
  PlannedNetwork network{fused};
  const Plan* line = line_of_these_weights(records.lowered_plan_for(hash_of(fused), to_string(target), uniform), fused,
                                           uniform, network.note);
  if (line == nullptr) return network;
  Result<FusedGraph> result = applied(fused, *line, target);
  if (!result.ok()) {
    network.note = "the records' plan in fewer bits does not count: " + result.error().message;
    return network;
  }
  network.fused = std::move(*result);
  network.kernels = line->kernels, network.line = line;
  return network;
}

std::string lowered_worth(const Plan& line) {
  const double usual = line.usual_network_seconds;
  std::string worth = usual > 0 ? fmt::format("{:.2f} of the time, ", line.network_seconds / usual) : "";
  return worth + fmt::format("worst held-out sample {:.2g}%", 100 * line.precision->held_out_error);
}

std::string lowered_offer(const FusedGraph& fused, const Records& records, const Target& target) {
  if (std::ranges::none_of(records.plans(), [](const Plan& plan) { return plan.precision.has_value(); })) return "";
  for (const char* uniform : {"", "u8"}) {
    const Plan* line = records.lowered_plan_for(hash_of(fused), to_string(target), uniform);
    if (line == nullptr || line->precision->weights != hash_of_constants(fused)) continue;
    std::string types;
    for (StoredAs stored : lowered_of(line->kernels))
      types += (types.empty() ? "" : " and ") + to_text(ActivationLayout{0, 0, stored});
    return fmt::format("in {} ({}); --precision {} takes it", types, lowered_worth(*line), precision_word(uniform));
  }
  return "";
}

}  // namespace whet
