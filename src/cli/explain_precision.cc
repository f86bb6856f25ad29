// whet explain precision: what each layer's precision costs in accuracy and saves in time.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/table.h"
#include "plan/layer_precisions.h"
#include "records/record_file.h"
#include "workflow/layer_json.h"
#include "workflow/opened.h"

namespace whet {
namespace {

/// A network with its lowered kernels, and what was asked of the records.
struct AskedLayers {
  FusedGraph fused;
  RecordsRead read;
  LoweredKernels kernels;
  std::vector<LayerPrecision> layers;  ///< that the answer shows
  std::optional<BudgetEstimate> half, twice;

  double budget() const { return kernels.line == nullptr ? 0 : kernels.line->precision->budget; }
};

/// The layer that is named: errors tell what else the network has, and why a node is no layer.
Result<std::size_t> layer_at(const Question& question, const AskedLayers& lowered) {
  std::vector<std::string> names;
  for (const LayerPrecision& layer : lowered.layers) names.push_back(layer.node);
  for (const Group& group : lowered.fused.groups)
    if (lowered.fused.graph.value(group.outputs.front()).name == question.what &&
        std::ranges::find(names, question.what) == names.end())
      return Error{"explain precision: " + question.what +
                   " multiplies nothing and its kernels round nothing: it is stored as its neighbours are"};
  return find_name(question.what, names, "is no layer with a product, nor one for which a kernel rounds");
}

Result<AskedLayers> asked_layers(const Question& question) {
  AskedLayers lowered;
  WHET_TRY(const TargetOnCores place, choose_target(question.place));
  RoundingOptions rounding;
  rounding.precision = "auto";
  WHET_RETURN_IF_ERROR(rounding.check(place.target));
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(lowered.fused, load_fused(question.model, files, {}));
  WHET_TRY(lowered.read, read_records(question.records));
  for (const std::string& note : lowered.read.notes) tell_user(note);
  WHET_TRY(lowered.kernels, lowered_kernels(lowered.fused, lowered.read.records, place.target, rounding.schedules()));
  const LoweredKernels& kernels = lowered.kernels;
  if (kernels.line == nullptr && kernels.errors.empty())
    return Error{question.records + ": " +
                 (!kernels.note.empty() ? kernels.note
                                        : "there are neither errors of this network's layers nor a plan in fewer bits "
                                          "for this target: whet tune --precision auto --samples S --max-error E, or "
                                          "--precision int8 --samples S, measures them")};
  lowered.layers = layer_precisions(lowered.fused, kernels);
  if (!question.what.empty()) {
    WHET_TRY(const std::size_t named, layer_at(question, lowered));
    lowered.layers = {lowered.layers[named]};
  }
  std::ranges::stable_sort(lowered.layers, std::ranges::greater(),
                           [](const LayerPrecision& layer) { return layer.error.value_or(0); });
  if (lowered.budget() <= 0) return lowered;
  lowered.half = estimate_within(lowered.fused, kernels, lowered.budget() / 4);
  lowered.twice = estimate_within(lowered.fused, kernels, 4 * lowered.budget());
  return lowered;
}

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.2g}%", 100 * *error) : "–";
}
std::string time_text(double seconds) { return seconds != 0 ? fmt::format("{:.1f}", seconds * 1e6) : "–"; }
std::string share_text(double error, double budget) {
  return error > 0 && budget > 0 ? fmt::format("{:.0f}%", 100 * error * error / budget) : "–";
}

void print_layers(const AskedLayers& lowered) {
  Table table(
      {{"Layer", false}, {"Is", false}, {"Error alone"}, {"Of the budget"}, {"Saves (us)"}, {"Why f32", false}});
  for (const LayerPrecision& layer : lowered.layers)
    table.add({layer.node, layer.is + (layer.numbers.empty() ? "" : " (" + layer.numbers + ")"),
               error_text(layer.error), layer.share > 0 ? fmt::format("{:.0f}%", 100 * layer.share) : "–",
               time_text(layer.saves), layer.why});
  print(table);
}

/// Its usual kernel, then those that round.
void print_ways(const LayerPrecision& layer, double budget) {
  Table table({{"Kernel", false}, {"Time (us)"}, {"Error alone"}, {"Of the budget"}, {"", false}});
  const auto is = [&](const std::string& forms) { return layer.is == forms ? "in the plan" : ""; };
  table.add({"f32", time_text(layer.usual_seconds), "0%", "–", is("f32")});
  for (const LoweredWay& way : layer.ways)
    table.add({way.forms, time_text(way.seconds), error_text(way.error), share_text(way.error.value_or(0), budget),
               is(way.forms)});
  print(table);
}

/// "0.71 of the f32 kernels' time with 20 layers lowered"
std::string estimate_text(const std::optional<BudgetEstimate>& estimate) {
  if (!estimate) return "nothing is known";
  return fmt::format("{:.2f} of the f32 kernels' time with {} lowered", estimate->part,
                     counted(static_cast<std::int64_t>(estimate->lowered), "layer"));
}

void print_plan(const AskedLayers& lowered) {
  const Plan* line = lowered.kernels.line;
  if (line == nullptr) {
    const std::string& note = lowered.kernels.note;
    fmt::print("{}: f32 stays\n", note.empty() ? "No plan in fewer bits was adopted" : note);
    return;
  }
  const PlanPrecision& precision = *line->precision;
  if (!precision.uniform.empty()) {
    fmt::print("Every layer that can multiplies bytes{}: {}\n",
               precision.allowed.empty() ? "" : fmt::format(", limits {}", fmt::join(precision.allowed, ", ")),
               lowered_worth(*line));
    return;
  }
  fmt::print("Limits {}: {}; {:.2f} of them used by the worst of {}, {:.2f} by the worst of {} held out\n",
             fmt::join(precision.allowed, ", "), lowered_worth(*line), precision.share,
             counted(precision.calibration, "sample"), precision.held_out_share, precision.held_out);
  fmt::print("At half of the error {}, at twice {}: estimates by kernels' times and errors, not verified\n",
             estimate_text(lowered.half), estimate_text(lowered.twice));
}

void add_estimate(Json& out, const std::string& name, const std::optional<BudgetEstimate>& estimate) {
  out.set(name, estimate ? Json(estimate->part) : Json());
  out.set("lowered_" + name, estimate ? Json(static_cast<std::int64_t>(estimate->lowered)) : Json());
}

}  // namespace

Result<int> explain_precision(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_RETURN_IF_ERROR(needs_records(question));
  WHET_TRY(const AskedLayers lowered, asked_layers(question));
  if (question.json) {
    Json out = Json::object().set("layers", to_json(lowered.layers)).set("adopted", lowered.kernels.line != nullptr);
    out.set("budget", lowered.budget());
    out.set("uniform", lowered.kernels.line == nullptr ? "" : lowered.kernels.line->precision->uniform);
    add_estimate(out, "at_half", lowered.half);
    add_estimate(out, "at_twice", lowered.twice);
    return print(out);
  }
  print_layers(lowered);
  if (!question.what.empty()) print_ways(lowered.layers.front(), lowered.budget());
  print_plan(lowered);
  return kDone;
}

}  // namespace whet
