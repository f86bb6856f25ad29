// whet explain precision: what each layer's precision costs in accuracy and saves in time.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "alternatives/stored_numbers.h"
#include "base/counted.h"
#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/table.h"
#include "plan/error_uses.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "workflow/opened.h"

namespace whet {
namespace {

/// A network with its lowered kernels, their times and their errors.
struct LoweredNetwork {
  FusedGraph fused;
  Alternatives alternatives;
  std::vector<Price> prices;
  ErrorUses uses;
  std::vector<LayerError> errors;
  ValueRanges ranges;          ///< that scales of whole numbers follow from
  const Plan* line = nullptr;  ///< the adopted plan
  RecordsRead read;
};

/// The errors of the plan's samples; without a plan those of the samples that were used last.
std::vector<LayerError> errors_of(const LoweredNetwork& network, const std::string& target) {
  const std::string graph = hash_of(network.fused), weights = hash_of_constants(network.fused);
  std::vector<LayerError> found;
  std::string samples = network.line != nullptr ? network.line->precision->samples : "";
  const std::vector<LayerError>& all = network.read.records.errors();
  for (auto error = all.rbegin(); error != all.rend(); ++error) {
    if (error->graph != graph || error->weights != weights || error->target != target) continue;
    if (samples.empty()) samples = error->samples;
    if (error->samples == samples) found.push_back(*error);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Those that the plan's scales follow from; without a plan those of the errors' samples.
ValueRanges ranges_of(const LoweredNetwork& network, const std::string& target) {
  if (network.line != nullptr && !network.line->precision->ranges.empty()) return network.line->precision->ranges;
  const LayerError& error = network.errors.front();
  const RangesOnSamples* found =
      network.read.records.ranges_on_samples(error.graph, error.weights, error.samples, target);
  return found != nullptr ? found->values : ValueRanges();
}

Result<LoweredNetwork> lowered_network(const Question& question) {
  LoweredNetwork network;
  WHET_TRY(const TargetOnCores place, choose_target(question.place));
  const std::string target = to_string(place.target);
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(network.fused, load_fused(question.model, files, {}));
  WHET_TRY(network.read, read_records(question.records));
  for (const std::string& note : network.read.notes) tell_user(note);
  const Records& records = network.read.records;
  network.line = records.lowered_plan_for(hash_of(network.fused), target);
  network.errors = errors_of(network, target);
  if (network.errors.empty())
    return Error{
        question.records +
        " has no errors of this network's layers for this target and these weights: whet tune --precision auto "
        "--samples S --max-error E measures them"};
  AlternativeOptions options{.covers = false, .lowered = lowered_for(place.target)};
  options.ranges = network.ranges = ranges_of(network, target);
  WHET_TRY(network.alternatives, find_alternatives(network.fused, place.target, options));
  network.prices = prices_of(network.alternatives, records, place.target, {.guess = false});
  network.uses = error_uses(network.fused, network.alternatives, network.errors);
  return network;
}

/// A row of the answer.
struct LayerRow {
  std::string node, is;
  double error = 0;    ///< alone, of its fastest measured lowered kernel; of none, of its product
  double seconds = 0;  ///< that this kernel saves; 0: not known
  std::string why;
};

/// What the adopted plan has at each node.
std::map<std::string, std::string> forms_in_plan(const LoweredNetwork& network) {
  std::map<std::string, std::string> forms;
  if (network.line != nullptr)
    for (const PlannedKernel& kernel : network.line->kernels)
      if (!kernel.transform) forms[kernel.node] = kernel.forms;
  return forms;
}

/// What the layer of these forms multiplies; nothing where that is f32.
std::optional<StoredAs> lowered_in(const std::string& forms) {
  const auto form = parse_activation_layout(std::string_view(forms).substr(0, forms.find(" -> ")));
  return form && form->stored != StoredAs::usual ? std::optional(form->stored) : std::nullopt;
}

/// " (14 bits, step 0.0021)": how a group's product has its activation; "" of bf16.
std::string numbers_text(const LoweredNetwork& network, int group, StoredAs type, const StoredForms& stored) {
  for (NodeId n : network.fused.groups[static_cast<std::size_t>(group)].nodes) {
    const Node& node = network.fused.graph.node(n);
    if (!is_product(node.op)) continue;
    const std::optional<StoredNumbers> numbers = stored.numbers(node.inputs[0], type);
    if (numbers && !to_text(*numbers).empty()) return " (" + to_text(*numbers) + ")";
  }
  return "";
}

std::vector<LayerRow> rows_of(const LoweredNetwork& network) {
  const std::map<std::string, std::string> planned = forms_in_plan(network);
  const double budget = network.line != nullptr ? network.line->precision->budget : 0;
  std::map<int, double> usual;
  for (std::size_t a = 0; a < network.alternatives.usual; ++a)
    usual[network.alternatives.all[a].group] = network.prices[a].seconds;
  const StoredForms stored(network.fused, network.ranges);
  std::vector<LayerRow> rows;
  for (std::size_t g = 0; g < network.fused.groups.size(); ++g) {
    const std::string& node = network.fused.graph.value(network.fused.groups[g].outputs.front()).name;
    LayerRow row{node, "f32"};
    bool found = false;
    double fastest = 0;
    for (std::size_t a = network.alternatives.usual; a < network.alternatives.all.size(); ++a) {
      const Alternative& each = network.alternatives.all[a];
      if (each.group != static_cast<int>(g) || !each.rounds_product) continue;
      const bool measured = network.prices[a].kind == PriceKind::measured;
      if (!found) row.error = std::sqrt(network.uses.uses[a]);
      found = true;
      if (!measured || (fastest > 0 && network.prices[a].seconds >= fastest)) continue;
      fastest = network.prices[a].seconds, row.error = std::sqrt(network.uses.uses[a]);
    }
    if (!found) continue;
    if (fastest > 0 && usual[static_cast<int>(g)] > 0) row.seconds = usual[static_cast<int>(g)] - fastest;
    if (const auto form = planned.find(node); form != planned.end()) row.is = form->second;
    const bool lowered = lowered_in(row.is).has_value();
    if (!lowered && row.error == 0)
      row.why = "its error is not known";
    else if (!lowered && fastest == 0)
      row.why = "nobody measured it in fewer bits";
    else if (!lowered && row.seconds <= 0)
      row.why = "fewer bits are no faster";
    else if (!lowered && budget > 0 && row.error * row.error > budget)
      row.why = "alone it breaks the limit";
    else if (!lowered && budget > 0)
      row.why = fmt::format("it would take {:.0f}% of the budget", 100 * row.error * row.error / budget);
    if (lowered) row.is += numbers_text(network, static_cast<int>(g), *lowered_in(row.is), stored);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &LayerRow::error);
  return rows;
}

/// The sum of measured kernels' times in the fastest plan within a budget, as a part of the usual one's; nothing where it is not known.
std::optional<double> part_within(const LoweredNetwork& network, double budget) {
  PlanOptions options{.forbidden = network.uses.unknown};
  options.uses = network.uses.uses, options.budget = budget, options.gap = 1e-3;
  for (std::size_t a = 0; a < network.prices.size(); ++a) {
    if (network.prices[a].kind != PriceKind::estimated) continue;
    if (a < network.alternatives.usual) return std::nullopt;
    options.forbidden.push_back(static_cast<int>(a));
  }
  const Result<NetworkPlans> plans = best_plans(network.fused, network.alternatives, network.prices, options);
  if (!plans.ok() || plans->usual.seconds <= 0) return std::nullopt;
  return plans->best.front().seconds / plans->usual.seconds;
}

std::string part_text(const std::optional<double>& part) { return part ? fmt::format("{:.2f}", *part) : "?"; }

Json row_json(const LayerRow& row) {
  return Json::object()
      .set("layer", row.node)
      .set("is", row.is)
      .set("error", row.error)
      .set("saves_us", row.seconds * 1e6)
      .set("why", row.why);
}

}  // namespace

Result<int> explain_precision(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_RETURN_IF_ERROR(needs_records(question));
  WHET_TRY(const LoweredNetwork network, lowered_network(question));
  std::vector<LayerRow> rows = rows_of(network);
  if (!question.what.empty()) {
    std::vector<std::string> names;
    for (const LayerRow& row : rows) names.push_back(row.node);
    WHET_TRY(const std::size_t named,
             find_name(question.what, names, "is no layer with a product that can be lowered"));
    rows = {rows[named]};
  }
  const double budget = network.line != nullptr ? network.line->precision->budget : 0;
  const auto half = budget > 0 ? part_within(network, budget / 4) : std::nullopt;
  const auto twice = budget > 0 ? part_within(network, 4 * budget) : std::nullopt;
  if (question.json) {
    Json layers = Json::array();
    for (const LayerRow& row : rows) layers.add(row_json(row));
    Json out = Json::object().set("layers", layers).set("adopted", network.line != nullptr).set("budget", budget);
    out.set("at_half", half ? Json(*half) : Json()).set("at_twice", twice ? Json(*twice) : Json());
    return print(out);
  }
  Table table({{"Layer", false}, {"Is", false}, {"Error alone"}, {"Saves (us)"}, {"Why", false}});
  for (const LayerRow& row : rows)
    table.add({row.node, row.is, row.error > 0 ? fmt::format("{:.2g}%", 100 * row.error) : "–",
               row.seconds != 0 ? fmt::format("{:.1f}", row.seconds * 1e6) : "–", row.why});
  print(table);
  if (network.line == nullptr) {
    fmt::print("No plan in fewer bits was adopted: f32 stays\n");
    return kDone;
  }
  const PlanPrecision& precision = *network.line->precision;
  fmt::print("Limits {}: {}, {} of them used by the worst sample, {:.2f} by the worst held out\n",
             fmt::join(precision.allowed, ", "), lowered_worth(*network.line), fmt::format("{:.2f}", precision.share),
             precision.held_out_share);
  fmt::print("By sums of kernels' times, not verified: at half the error {} of the f32 kernels' time, at twice {}\n",
             part_text(half), part_text(twice));
  return kDone;
}

}  // namespace whet
