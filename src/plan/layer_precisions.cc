#include "plan/layer_precisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "alternatives/not_lowered.h"
#include "alternatives/stored_numbers.h"

namespace whet {
namespace {

/// A proof to a thousandth is enough: errors are not known better.
constexpr double kEstimateGap = 1e-3;

const std::string& node_of(const FusedGraph& fused, std::size_t group) {
  return fused.graph.value(fused.groups[group].outputs.front()).name;
}

double seconds_alone(const Price& price) { return price.kind == PriceKind::measured ? price.alone() : 0; }

bool rounds(const Alternative& alternative) {
  return alternative.kind == AlternativeKind::lowered && (alternative.rounds_product || alternative.rounds_reads);
}

/// The kernel that a layer in f32 is weighed against: the fastest of which the error is known and within the budget; without one, what is
/// nearest to that.
const LoweredWay* most_promising(const std::vector<LoweredWay>& ways, double budget) {
  const auto worth = [budget](const LoweredWay& way) {
    const bool fits = way.error && (budget <= 0 || *way.error * *way.error <= budget);
    return std::tuple(way.seconds > 0, way.error.has_value(), fits, -way.seconds);
  };
  const auto best = std::ranges::max_element(ways, {}, worth);
  return best == ways.end() ? nullptr : &*best;
}

/// "bf16" of "bf16 -> nhwc", of "nhwc -> bf16" and of "bf16": the type in fewer bits.
std::string type_in(const std::string& forms) {
  const std::size_t arrow = forms.find(" -> ");
  const std::string from = forms.substr(0, arrow);
  return from == to_text(kChannelsLast) && arrow != forms.npos ? forms.substr(arrow + 4) : from;
}

/// Why the layer is f32 in a plan in which all products are of one type.
std::string why_not_uniform(const LayerPrecision& layer) {
  const auto is_of_bytes = [](const LoweredWay& way) { return type_in(way.forms) == "u8"; };
  if (std::ranges::none_of(layer.ways, is_of_bytes)) return "no kernel computes it on bytes";
  return "it multiplies nothing, or its kernels on bytes failed; so the sum of times is least";
}

/// Why the layer is f32 in the plan.
std::string why_f32(const LayerPrecision& layer, const LoweredWay& way, double budget) {
  const std::string type = type_in(way.forms);
  if (!way.error) return "its error was not measured: there was no time, or its answers were not finite";
  if (way.seconds == 0) return "no kernel of fewer bits was measured";
  if (layer.usual_seconds == 0) return "its f32 kernel was not measured";
  if (layer.saves <= 0) return type + " is no faster";
  if (budget <= 0) return "no plan was adopted";
  const double share = *way.error * *way.error / budget;
  if (share > 1) return type + " alone breaks the limit";
  return fmt::format("{} would take {:.0f}% of the budget for {:.1f} us", type, 100 * share, layer.saves * 1e6);
}

/// The numbers of the plan's alternatives by the groups whose work they do.
std::map<int, int> by_group(const Alternatives& alternatives, const std::vector<int>& plan) {
  std::map<int, int> kernels;
  for (int number : plan) {
    const Alternative& each = alternatives.all[static_cast<std::size_t>(number)];
    if (each.group >= 0) kernels[each.group] = number;
    for (int group : each.instead) kernels[group] = number;
  }
  return kernels;
}

/// How the layer's product has what it reads, in the type that the kernel rounds it to; "" where it rounds none.
std::string numbers_of(const FusedGraph& fused, const Alternative& kernel, const StoredForms& stored) {
  if (!kernel.rounds_product) return "";
  for (NodeId n : fused.groups[static_cast<std::size_t>(kernel.group)].nodes) {
    const Node& node = fused.graph.node(n);
    if (!is_product(node.op)) continue;
    if (const auto numbers = stored.numbers(node.inputs[0], *kernel.rounds_product)) return to_text(*numbers);
  }
  return "";
}

/// What is known of a layer beside the kernels that may compute it.
struct LayerPlan {
  const Alternative* kernel = nullptr;  ///< in the plan; null: there is no plan
  double seconds = 0;                   ///< of that kernel; 0: nobody measured it
  double budget = 0;
  std::string numbers;  ///< of that kernel
};

/// How the plan computes a layer, what that costs and saves, or why it does not lower it.
void describe(const LayerPlan& plan, LayerPrecision& layer) {
  const LoweredWay* way = most_promising(layer.ways, plan.budget);
  layer.seconds = layer.usual_seconds;
  if (plan.kernel != nullptr) {
    layer.seconds = plan.seconds, layer.numbers = plan.numbers;
    layer.lowered = rounds(*plan.kernel);
    if (!plan.kernel->name.empty()) layer.is = plan.kernel->name;
    if (layer.lowered) way = &*std::ranges::find(layer.ways, layer.is, &LoweredWay::forms);
  }
  if (way == nullptr) return;
  layer.error = way->error;
  if (way->seconds > 0 && layer.usual_seconds > 0) layer.saves = layer.usual_seconds - way->seconds;
  const bool is_uniform = plan.kernel != nullptr && plan.budget <= 0;
  if (layer.is == "f32") layer.why = is_uniform ? why_not_uniform(layer) : why_f32(layer, *way, plan.budget);
  if (layer.lowered && layer.error && plan.budget > 0) layer.share = *layer.error * *layer.error / plan.budget;
}

/// The types in which some kernel stores activations.
std::vector<StoredAs> types_of(const Alternatives& alternatives) {
  std::set<StoredAs> types;
  for (const Alternative& each : alternatives.all)
    for (const auto* values : {&each.fragment.reads, &each.fragment.writes})
      for (const StoredValue& value : *values) types.insert(value.form.stored);
  types.erase(StoredAs::usual);
  return {types.begin(), types.end()};
}

/// The errors of one set of samples: of the plan's, or of those that were used last.
std::vector<LayerError> errors_of(const FusedGraph& fused, const Records& records, const std::string& target,
                                  std::string samples) {
  const std::string graph = hash_of(fused), weights = hash_of_constants(fused);
  std::vector<LayerError> found;
  for (const LayerError& error : records.errors() | std::views::reverse) {
    if (error.graph != graph || error.weights != weights || error.target != target) continue;
    if (samples.empty()) samples = error.samples;
    if (error.samples == samples) found.push_back(error);
  }
  std::ranges::reverse(found);  // the last line of a layer counts
  return found;
}

/// Those of the plan; without a plan those of the errors' samples.
ValueRanges ranges_of(const LoweredKernels& kernels, const Records& records, const std::string& target) {
  if (kernels.line != nullptr && !kernels.line->precision->ranges.empty()) return kernels.line->precision->ranges;
  if (kernels.errors.empty()) return {};
  const LayerError& error = kernels.errors.front();
  const RangesOnSamples* found = records.ranges_on_samples(error.graph, error.weights, error.samples, target);
  return found != nullptr ? found->values : ValueRanges();
}

/// All that may be lowered, and what the plan is made of beside.
AlternativeOptions options_of(const LoweredKernels& kernels, const Target& target) {
  AlternativeOptions options{.covers = false, .lowered = lowered_for(target)};
  options.ranges = kernels.ranges;
  if (kernels.line == nullptr) return options;
  const std::vector<PlannedKernel>& planned = kernels.line->kernels;
  add_forms_of(planned, options);
  options.covers = std::ranges::any_of(planned, [](const PlannedKernel& k) { return names_cover(k.forms); });
  return options;
}

}  // namespace

std::vector<LayerPrecision> layer_precisions(const FusedGraph& fused, const Alternatives& alternatives,
                                             const std::vector<Price>& prices, const ErrorUses& uses,
                                             const std::vector<int>& plan, double budget, const ValueRanges& ranges) {
  const StoredForms stored(fused, ranges);
  const std::vector<StoredAs> types = types_of(alternatives);
  const std::set<int> unknown(uses.unknown.begin(), uses.unknown.end());
  std::map<int, LayerPrecision> layers;
  for (std::size_t a = alternatives.usual; a < alternatives.all.size(); ++a) {
    const Alternative& each = alternatives.all[a];
    if (!rounds(each) || each.group < 0) continue;
    LoweredWay way{each.name, seconds_alone(prices[a]), std::nullopt};
    if (!unknown.contains(static_cast<int>(a))) way.error = std::sqrt(uses.uses[a]);
    layers[each.group].ways.push_back(std::move(way));
  }
  for (std::size_t g = 0; g < fused.groups.size(); ++g)
    if (const auto number = static_cast<int>(g); !layers.contains(number) && has_product(fused, fused.groups[g]))
      layers[number].why = why_not_lowered(fused, fused.groups[g], types, stored);
  for (std::size_t a = 0; a < alternatives.usual; ++a)
    if (const auto layer = layers.find(alternatives.all[a].group); layer != layers.end())
      layer->second.usual_seconds = seconds_alone(prices[a]);
  const std::map<int, int> planned = by_group(alternatives, plan);
  std::vector<LayerPrecision> ordered;
  for (auto& [group, layer] : layers) {
    layer.node = node_of(fused, static_cast<std::size_t>(group));
    LayerPlan own{.budget = budget};
    if (const auto kernel = planned.find(group); kernel != planned.end()) {
      const auto number = static_cast<std::size_t>(kernel->second);
      own.kernel = &alternatives.all[number], own.seconds = seconds_alone(prices[number]);
      own.numbers = numbers_of(fused, *own.kernel, stored);
    }
    describe(own, layer);
    ordered.push_back(std::move(layer));
  }
  return ordered;
}

Result<LoweredKernels> lowered_kernels(const FusedGraph& fused, const Records& records, const Target& target,
                                       const SpaceOptions& schedules) {
  LoweredKernels found;
  std::string note;
  found.line = last_lowered_line(fused, records, target, note);
  if (records.last_lowered_plan_for(hash_of(fused), to_string(target)) != nullptr) found.note = note;
  found.errors =
      errors_of(fused, records, to_string(target), found.line == nullptr ? "" : found.line->precision->samples);
  found.ranges = ranges_of(found, records, to_string(target));
  WHET_TRY(found.alternatives, find_alternatives(fused, target, options_of(found, target)));
  found.prices = prices_of(found.alternatives, records, target, {.schedules = schedules, .guess = false});
  found.uses = error_uses(fused, found.alternatives, found.errors);
  if (found.line == nullptr) return found;
  WHET_TRY(NetworkPlan plan, find_plan(fused, found.alternatives, found.line->kernels));
  found.plan = std::move(plan.alternatives);
  return found;
}

std::vector<LayerPrecision> layer_precisions(const FusedGraph& fused, const LoweredKernels& kernels) {
  const double budget = kernels.line == nullptr ? 0 : kernels.line->precision->budget;
  return layer_precisions(fused, kernels.alternatives, kernels.prices, kernels.uses, kernels.plan, budget,
                          kernels.ranges);
}

std::optional<BudgetEstimate> estimate_within(const FusedGraph& fused, const LoweredKernels& kernels, double budget) {
  const Alternatives& alternatives = kernels.alternatives;
  PlanOptions options{.forbidden = kernels.uses.unknown};
  options.uses = kernels.uses.uses, options.budget = budget, options.gap = kEstimateGap;
  for (std::size_t a = 0; a < kernels.prices.size(); ++a) {
    const AlternativeKind kind = alternatives.all[a].kind;
    const bool of_f32 = kind == AlternativeKind::layout || kind == AlternativeKind::cover;
    const bool unmeasured = kernels.prices[a].kind == PriceKind::estimated;
    if (unmeasured && a < alternatives.usual) return std::nullopt;
    // As the search has it: of layouts and covers, those of the plan.
    const bool other = of_f32 && std::ranges::find(kernels.plan, static_cast<int>(a)) == kernels.plan.end();
    if (unmeasured || other) options.forbidden.push_back(static_cast<int>(a));
  }
  const Result<NetworkPlans> plans = best_plans(fused, alternatives, kernels.prices, options);
  if (!plans.ok() || plans->usual.seconds <= 0) return std::nullopt;
  BudgetEstimate estimate{plans->best.front().seconds / plans->usual.seconds};
  double squares = 0;
  for (int number : plans->best.front().alternatives) {
    estimate.lowered += rounds(alternatives.all[static_cast<std::size_t>(number)]);
    squares += kernels.uses.uses[static_cast<std::size_t>(number)];
  }
  estimate.error = std::sqrt(squares);
  return estimate;
}

}  // namespace whet
