// In how many bits each layer computes, what that costs in accuracy and what it saves.

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// "0.81%"
std::string error_percent(double error) { return fmt::format("{:.2g}%", 100 * error); }

std::string row_of_layer(const LayerPrecision& layer, TimeUnit unit) {
  const auto time = [&](double seconds) { return number_cell(is_time(seconds) ? unit.number(seconds) : "", seconds); };
  return fmt::format("<tr><td>{}</td><td>{}</td>{}{}{}{}<td>{}</td></tr>\n", escaped(layer.node), escaped(layer.is),
                     time(layer.seconds), time(layer.usual_seconds),
                     number_cell(layer.error ? error_percent(*layer.error) : "", layer.error.value_or(0)),
                     number_cell(layer.share > 0 ? share_text(layer.share, 1) : "", layer.share), escaped(layer.why));
}

std::string table_of_layers(const std::vector<LayerPrecision>& layers, TimeUnit unit) {
  if (layers.empty()) return "";
  std::string rows;
  for (const LayerPrecision& layer : layers) rows += row_of_layer(layer, unit);
  return fmt::format(
      "<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"Precision of the layers\"><table "
      "class=\"sorts\"><thead><tr><th scope=\"col\">Layer</th><th scope=\"col\">Precision</th><th scope=\"col\" "
      "class=\"n\">{0}</th><th scope=\"col\" class=\"n\">f32 {0}</th><th scope=\"col\" class=\"n\">Error<br>alone</th>"
      "<th scope=\"col\" class=\"n\">Of the<br>budget</th><th scope=\"col\">Why f32</th></tr></thead><tbody>\n"
      "{1}</tbody></table></div>\n",
      unit.name(), rows);
}

std::string finding_of_precision(const ReportPrecision& precision, TimeUnit unit) {
  const auto lowered = std::ranges::count_if(precision.layers, &LayerPrecision::lowered);
  if (!precision.adopted)
    return "Every layer computes f32: " +
           (precision.note.empty() ? "no plan in fewer bits was adopted" : escaped(precision.note)) + ".";
  std::string text =
      fmt::format("{} of {} {} fewer bits.", count_text(lowered), count_of(std::ssize(precision.layers), "layer"),
                  for_count(lowered, "computes", "compute"));
  if (precision.network_seconds > 0 && precision.usual_network_seconds > 0)
    text += fmt::format(" One inference takes {}, in f32 {}: {:.2f} of the time, measured alternately.",
                        unit.text(precision.network_seconds), unit.text(precision.usual_network_seconds),
                        precision.network_seconds / precision.usual_network_seconds);
  const PlanPrecision& plan = precision.plan;
  if (!plan.uniform.empty())
    return text +
           fmt::format(
               " Every layer that can multiplies bytes, whatever it errs by{}. The worst of {} errs by {}, the "
               "worst of {} that were held out by {}.",
               plan.allowed.empty() ? "" : "; allowed: " + escaped(fmt::format("{}", fmt::join(plan.allowed, ", "))),
               count_of(plan.calibration, "sample"), error_percent(plan.error), count_text(plan.held_out),
               error_percent(plan.held_out_error));
  return text + fmt::format(
                    " Allowed: {}. The worst of {} used {:.2f} of it and errs by {}, the worst of {} that were held "
                    "out {:.2f} and {}.",
                    escaped(fmt::format("{}", fmt::join(plan.allowed, ", "))), count_of(plan.calibration, "sample"),
                    plan.share, error_percent(plan.error), count_text(plan.held_out), plan.held_out_share,
                    error_percent(plan.held_out_error));
}

}  // namespace

std::string precision_section(const ReportData& data) {
  const ReportPrecision& precision = data.precision;
  if (precision.layers.empty() && precision.note.empty()) return "";
  const TimeUnit unit = unit_of(data);
  return section(
      "precision", "Precision", finding_of_precision(precision, unit),
      table_of_layers(precision.layers, unit) +
          "<p class=\"remark\">Error alone: relative L2 of the network's answers on the samples with this layer "
          "alone rounded, as the plan has it or as its fastest kernel of fewer bits would. Squares of errors add "
          "up to the budget. Samples that were held out took no part in the choice; they are no proof for other "
          "data.</p>\n");
}

}  // namespace whet
