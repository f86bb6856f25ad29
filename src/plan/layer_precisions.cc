#include "plan/layer_precisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

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

/// The kernel that a layer in f32 is weighed against: the fastest one that was measured, else one whose error is known.
const LoweredWay* most_promising(const std::vector<LoweredWay>& ways) {
  const LoweredWay* best = nullptr;
  for (const LoweredWay& way : ways) {
    const bool faster = best != nullptr && way.seconds > 0 && (best->seconds == 0 || way.seconds < best->seconds);
    if (best == nullptr || faster || (best->seconds == 0 && way.seconds == 0 && !best->error && way.error)) best = &way;
  }
  return best;
}

/// "bf16" of "bf16 -> nhwc", of "nhwc -> bf16" and of "bf16": the type in fewer bits.
std::string type_in(const std::string& forms) {
  const std::size_t arrow = forms.find(" -> ");
  const std::string from = forms.substr(0, arrow);
  return from == to_text(kChannelsLast) && arrow != forms.npos ? forms.substr(arrow + 4) : from;
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

/// How the plan computes a layer, what that costs and saves, or why it does not lower it.
///   planned  the plan's kernels by group
void describe(const Alternatives& alternatives, const std::map<int, int>& planned, int group, double budget,
              LayerPrecision& layer) {
  const LoweredWay* way = most_promising(layer.ways);
  if (const auto kernel = planned.find(group); kernel != planned.end()) {
    const Alternative& taken = alternatives.all[static_cast<std::size_t>(kernel->second)];
    layer.lowered = rounds(taken);
    if (!taken.name.empty()) layer.is = taken.name;
    if (layer.lowered) way = &*std::ranges::find(layer.ways, taken.name, &LoweredWay::forms);
  }
  if (way == nullptr) return;
  layer.error = way->error;
  if (way->seconds > 0 && layer.usual_seconds > 0) layer.saves = layer.usual_seconds - way->seconds;
  if (!layer.lowered) layer.why = why_f32(layer, *way, budget);
  if (layer.lowered && layer.error && budget > 0) layer.share = *layer.error * *layer.error / budget;
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

/// How the layer's product has what it reads, where that is the first of these forms.
std::string numbers_of(const FusedGraph& fused, const Group& group, const std::string& forms,
                       const StoredForms& stored) {
  const auto type = parse_activation_layout(forms.substr(0, forms.find(" -> ")));
  if (!type || type->stored == StoredAs::usual) return "";
  for (NodeId n : group.nodes) {
    const Node& node = fused.graph.node(n);
    if (!is_product(node.op)) continue;
    if (const auto numbers = stored.numbers(node.inputs[0], type->stored)) return to_text(*numbers);
  }
  return "";
}

}  // namespace

std::vector<LayerPrecision> layer_precisions(const FusedGraph& fused, const Alternatives& alternatives,
                                             const std::vector<Price>& prices, const ErrorUses& uses,
                                             const std::vector<int>& plan, double budget) {
  const std::set<int> unknown(uses.unknown.begin(), uses.unknown.end());
  const std::map<int, int> planned = by_group(alternatives, plan);
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
      layers[number].why = why_not_lowered(fused, fused.groups[g]);
  for (std::size_t a = 0; a < alternatives.usual; ++a)
    if (const auto layer = layers.find(alternatives.all[a].group); layer != layers.end())
      layer->second.usual_seconds = seconds_alone(prices[a]);
  std::vector<LayerPrecision> ordered;
  for (auto& [group, layer] : layers) {
    layer.node = node_of(fused, static_cast<std::size_t>(group));
    describe(alternatives, planned, group, budget, layer);
    ordered.push_back(std::move(layer));
  }
  return ordered;
}

Result<LoweredKernels> lowered_kernels(const FusedGraph& fused, const Records& records, const Target& target,
                                       const SpaceOptions& schedules) {
  LoweredKernels found;
  std::string note;
  found.line = lowered_line(fused, records, target, note);
  if (records.lowered_plan_for(hash_of(fused), to_string(target)) != nullptr) found.note = note;
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
  std::vector<LayerPrecision> layers =
      layer_precisions(fused, kernels.alternatives, kernels.prices, kernels.uses, kernels.plan, budget);
  const StoredForms stored(fused, kernels.ranges);
  for (const Group& group : fused.groups) {
    const auto layer = std::ranges::find(layers, fused.graph.value(group.outputs.front()).name, &LayerPrecision::node);
    if (layer != layers.end() && layer->lowered) layer->numbers = numbers_of(fused, group, layer->is, stored);
  }
  return layers;
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
