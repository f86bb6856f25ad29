// How the network's activations are stored: a plan drawn as a timetable. Time runs to the right, a lane is a form, and a
// kernel that changes the form crosses from one lane to another.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "plan/tried.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kPlanLeft = 84, kPlanLength = 770, kPlanLane = 26;

bool has_forms(const ReportKernel& kernel) { return kernel.from != "nhwc" || kernel.to != "nhwc"; }
bool is_other(const ReportKernel& kernel) { return kernel.copy || !kernel.cover.empty() || has_forms(kernel); }
bool is_usual(const ReportPlan& plan) { return std::none_of(plan.kernels.begin(), plan.kernels.end(), is_other); }

/// The forms of a plan, the usual one first.
std::vector<std::string> lanes_of(const ReportPlan& plan) {
  std::vector<std::string> lanes = {"nhwc"};
  for (const ReportKernel& kernel : plan.kernels)
    for (const std::string& form : {kernel.from, kernel.to})
      if (std::find(lanes.begin(), lanes.end(), form) == lanes.end()) lanes.push_back(form);
  return lanes;
}

/// Draws a plan from `top` on. Returns where the next one may begin.
double draw_plan(Svg& svg, const ReportPlan& plan, const char* name, double top, double px_a_second, bool is_chosen,
                 TimeUnit unit) {
  const std::vector<std::string> lanes = lanes_of(plan);
  const auto lane = [&](const std::string& form) {
    return top + 26 + kPlanLane * static_cast<double>(std::find(lanes.begin(), lanes.end(), form) - lanes.begin());
  };
  svg.text(kPlanLeft, top + 4, name, is_chosen ? "strong" : "soft");
  const double end = kPlanLeft + plan.seconds * px_a_second;
  for (const std::string& form : lanes) {
    svg.line(kPlanLeft, lane(form), end, lane(form), "grid");
    svg.text(kPlanLeft - 10, lane(form) + 4, form, "soft", Anchor::end);
  }
  double x = kPlanLeft;
  double free_from = kPlanLeft;  // where the next label may be
  for (const ReportKernel& kernel : plan.kernels) {
    const double width = kernel.seconds * px_a_second;
    if (width <= 0) continue;
    const double y1 = lane(kernel.from), y2 = lane(kernel.to);
    const std::string style = kernel.copy ? "copy" : kind_class(kernel.label.kind) + "l";
    svg.path(fmt::format("M{} {}L{} {}", px(x), px(y1), px(x + std::max(0.6, width - 1)), px(y2)),
             style + (is_chosen ? " kernel" : " kernel faded"));
    if (!kernel.cover.empty()) {
      svg.line(x, y1 + 7, x + std::max(0.6, width - 1), y1 + 7, is_chosen ? "axis" : "grid");
      const std::string count = fmt::format("{} in one", kernel.instead);
      const bool fits = width_of_label(count) <= width;
      if (is_chosen)
        svg.text(x + width / 2, y1 + 17, fits ? count : std::to_string(kernel.instead), "soft", Anchor::middle);
    }
    const std::string label =
        kernel.copy ? unit.text(kernel.seconds - kernel.excess) : label_in(kernel.label, width - 4);
    const double wanted = kernel.copy ? width_of_label(label) : 0;
    if (is_chosen && !label.empty() && x + 2 >= free_from) {
      svg.text(kernel.copy ? x + width / 2 : x + 2, std::min(y1, y2) - 7, label, kernel.copy ? "cost" : "soft",
               kernel.copy ? Anchor::middle : Anchor::start);
      free_from = x + wanted;
    }
    x += width;
  }
  svg.text(end + 8, lane("nhwc") + 4, unit.text(plan.seconds), is_chosen ? "figure strong" : "figure");
  return top + 26 + kPlanLane * static_cast<double>(lanes.size()) + 8;
}

/// Of the copies alone.
double copies_of(const ReportPlan& plan, std::int64_t* count = nullptr) {
  double seconds = 0;
  for (const ReportKernel& kernel : plan.kernels)
    if (kernel.copy) {
      seconds += kernel.seconds - kernel.excess;
      if (count != nullptr) ++*count;
    }
  return seconds;
}

/// How much longer it takes.
std::string told_of_runner_up(double more, TimeUnit unit) {
  if (!is_time(std::abs(more))) return " The runner-up takes as long.";
  return fmt::format(" The runner-up takes {} {}.", unit.text(std::abs(more)), more > 0 ? "more" : "less");
}

std::string finding_of_layouts(const ReportLayouts& layouts, TimeUnit unit) {
  std::int64_t others = 0, copies = 0;
  const double copying = copies_of(layouts.chosen, &copies);
  std::int64_t covers = 0;
  for (const ReportKernel& kernel : layouts.chosen.kernels) {
    others += has_forms(kernel) && !kernel.copy ? 1 : 0;
    covers += kernel.cover.empty() ? 0 : 1;
  }
  std::string text;
  if (others > 0 || copies > 0)
    text = fmt::format("{} {} on other forms than nhwc; {} between forms {} {}. ", count_of(others, "kernel"),
                       for_count(others, "works", "work"), count_of(copies, "copy", "copies"),
                       for_count(copies, "costs", "cost"), unit.text(copying));
  if (covers > 0)
    text += fmt::format("{} {} the work of several. ", count_of(covers, "kernel"), for_count(covers, "does", "do"));
  if (text.empty())
    text = fmt::format("Every kernel works on nhwc, the usual form: {} together.", unit.text(layouts.chosen.seconds));
  else
    text += fmt::format("Together {}, by the usual kernels {}.", unit.text(layouts.chosen.seconds),
                        unit.text(layouts.usual.seconds));
  if (is_time(layouts.chosen.excess))
    text +=
        fmt::format(" {} of the first and {} of the second are what the network took longer than its kernels alone.",
                    unit.text(layouts.chosen.excess), unit.text(layouts.usual.excess));
  if (layouts.network_seconds > 0 && layouts.usual_network_seconds > 0)
    text += fmt::format(" In the network, measured alternately: {} against {}.", unit.text(layouts.network_seconds),
                        unit.text(layouts.usual_network_seconds));
  if (!layouts.runner_up.kernels.empty())
    text += told_of_runner_up(layouts.runner_up.seconds - layouts.chosen.seconds, unit);
  if (layouts.recorded_at.empty()) text += " The record file holds no plan: other forms were not tried to the end.";
  return text;
}

std::string time_cell(double seconds, TimeUnit unit) {
  return number_cell(is_time(seconds) ? unit.number(seconds) : "", seconds);
}

/// Times are of kernels alone; what the network took longer has columns of its own.
std::string row_of(const ReportKernel& kernel, bool has_excess, TimeUnit unit) {
  std::string forms = kernel.from == kernel.to ? kernel.to : kernel.from + " → " + kernel.to;
  if (!kernel.cover.empty()) forms = fmt::format("{} of {}", kernel.cover, kernel.instead);
  return fmt::format("<tr><td>{}</td><td class=\"name\">{}</td><td>{}</td>{}{}{}<td>{}</td></tr>\n",
                     escaped(kernel.node), kernel.copy ? "copy" : escaped(kernel.op), escaped(forms),
                     time_cell(kernel.seconds - kernel.excess, unit),
                     time_cell(kernel.usual_seconds - kernel.usual_excess, unit),
                     has_excess ? time_cell(kernel.excess, unit) + time_cell(kernel.usual_excess, unit) : "",
                     kernel.measured ? "measured" : "estimated");
}

/// What became of the plans that were tried in the network.
std::string tried_plans(const ReportLayouts& layouts, TimeUnit unit) {
  std::string items;
  for (const TriedPlan& each : layouts.tried)
    items +=
        fmt::format("<li>{}</li>\n", escaped(tried_text(each, [&](double seconds) { return unit.text(seconds); })));
  return items.empty()
             ? ""
             : fmt::format("<p class=\"remark\">Tried in the network:</p>\n<ul class=\"remark\">\n{}</ul>\n", items);
}

/// The kernels that differ from the usual ones, each beside all that it stands for.
std::string table_of(const ReportLayouts& layouts, TimeUnit unit) {
  const bool has_excess = is_time(layouts.chosen.excess);
  std::string rows;
  for (const ReportKernel& kernel : layouts.chosen.kernels)
    if (is_other(kernel)) rows += row_of(kernel, has_excess, unit);
  if (rows.empty()) return "";
  const std::string excess = fmt::format(
      "<th scope=\"col\" class=\"n\">network's<br>excess {0}</th><th scope=\"col\" class=\"n\">usual<br>excess "
      "{0}</th>",
      unit.name());
  return fmt::format(
      "<details><summary>The kernels that differ</summary>\n<div class=\"picture\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"Kernels that differ\"><table class=\"sorts\"><thead><tr><th scope=\"col\">Value</th><th "
      "scope=\"col\">Kernel</th><th scope=\"col\">Stored</th><th scope=\"col\" class=\"n\">{0}</th><th scope=\"col\" "
      "class=\"n\">usual {0}</th>{1}<th scope=\"col\">Time "
      "is</th></tr></thead><tbody>\n{2}</tbody></table></div></details>\n",
      unit.name(), has_excess ? excess : "", rows);
}

}  // namespace

std::string layouts_section(const ReportData& data) {
  const ReportLayouts& layouts = data.layouts;
  if (layouts.chosen.kernels.empty() || !is_time(layouts.chosen.seconds)) return "";
  const TimeUnit unit = unit_of(data);
  const bool has_runner_up = !layouts.runner_up.kernels.empty();
  const double longest = std::max({layouts.chosen.seconds, layouts.differs ? layouts.usual.seconds : 0.0,
                                   has_runner_up ? layouts.runner_up.seconds : 0.0});
  const double px_a_second = kPlanLength / longest;
  double height = 20 + kPlanLane * static_cast<double>(lanes_of(layouts.chosen).size()) + 26;
  if (has_runner_up) height += 34 + kPlanLane * static_cast<double>(lanes_of(layouts.runner_up).size());
  const bool shows_usual = layouts.differs && !(has_runner_up && is_usual(layouts.runner_up));
  if (shows_usual) height += 34 + kPlanLane;
  const std::string told =
      fmt::format("Chosen {}, usual {}", unit.text(layouts.chosen.seconds), unit.text(layouts.usual.seconds));
  Svg svg(960, height, "Layouts", told);
  double y = draw_plan(svg, layouts.chosen, layouts.differs ? "chosen" : "chosen: the usual kernels", 12, px_a_second,
                       true, unit);
  if (has_runner_up)
    y = draw_plan(svg, layouts.runner_up, is_usual(layouts.runner_up) ? "runner-up: the usual kernels" : "runner-up", y,
                  px_a_second, false, unit);
  if (shows_usual) draw_plan(svg, layouts.usual, "usual kernels", y, px_a_second, false, unit);
  return section("layouts", "Layouts", finding_of_layouts(layouts, unit),
                 picture("Layouts", svg) + table_of(layouts, unit) + tried_plans(layouts, unit) +
                     "<p class=\"remark\">Time runs to the right; a lane is a form in which activations are stored, a "
                     "piece is a kernel, and one that crosses lanes reads one form and writes another.</p>\n");
}

}  // namespace whet
