// One inference as it was profiled: its kernels in time, a lane a worker, with the predicted times below.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kTimeLeft = 84, kTimeLength = 790, kTimeLane = 24;
/// Profiled times this much longer than the predicted ones are the machine's doing.
constexpr double kFarFrom = 1.5;
constexpr std::size_t kTimeListed = 12;

double sum_of(const std::vector<ReportStep>& steps, double ReportStep::* seconds) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [&](double sum, const ReportStep& step) { return sum + step.*seconds; });
}

void draw_workers(Svg& svg, const ReportProfile& profile, double px_a_second) {
  const double lanes = static_cast<double>(profile.workers.size());
  for (std::size_t w = 0; w < profile.workers.size(); ++w)
    svg.text(kTimeLeft - 10, 31 + kTimeLane * static_cast<double>(w), profile.workers[w], "soft", Anchor::end);
  double x = kTimeLeft;
  for (const ReportStep& step : profile.steps) {
    const double width = step.seconds * px_a_second;
    for (double lane = 0; lane < (step.parallel ? lanes : 1); ++lane)
      svg.box(x, 16 + lane * kTimeLane, std::max(0.3, width - 0.8), kTimeLane - 2, fmt::format("k{}", kind_of(step.op)),
              fmt::format("{}: {}", step.node, time_text(step.seconds)));
    if (const std::string label = label_of(step.op, width - 6); !label.empty())
      svg.text(x + 3, 31, label, fmt::format("on k{}t", kind_of(step.op)));
    x += width;
  }
}

void draw_predicted(Svg& svg, const ReportProfile& profile, double y, double px_a_second) {
  svg.text(kTimeLeft - 10, y + 9, "predicted", "soft", Anchor::end);
  double x = kTimeLeft;
  for (const ReportStep& step : profile.steps) {
    const double width = step.predicted_seconds * px_a_second;
    if (width > 0) svg.box(x, y, std::max(0.3, width - 0.8), 9, fmt::format("k{} faded", kind_of(step.op)));
    x += width;
  }
  svg.text(x + 8, y + 9, time_text(sum_of(profile.steps, &ReportStep::predicted_seconds)), "soft");
}

std::string finding_of_timeline(const ReportProfile& profile) {
  const double all = sum_of(profile.steps, &ReportStep::seconds);
  const auto& slowest =
      *std::max_element(profile.steps.begin(), profile.steps.end(),
                        [](const ReportStep& a, const ReportStep& b) { return a.seconds < b.seconds; });
  double alone = 0;
  for (const ReportStep& step : profile.steps)
    if (!step.parallel) alone += step.seconds;
  std::string text = fmt::format("{} take {}, one after another; the slowest, {}, takes {}.",
                                 count_of(std::ssize(profile.steps), "kernel"), time_text(all),
                                 escaped(short_name(slowest.op)), share_text(slowest.seconds, all));
  if (profile.workers.size() > 1)
    text += alone > 0 ? fmt::format(" For {} of the time one worker is alone.", share_text(alone, all))
                      : " All workers run all of them.";
  const double predicted = sum_of(profile.steps, &ReportStep::predicted_seconds);
  if (predicted > 0 && all > kFarFrom * predicted)
    text += fmt::format(" That is {:.1f} times the predicted time: another program ran, or the machine is shared.",
                        all / predicted);
  if (is_time(profile.seconds) && profile.seconds > all)
    text +=
        fmt::format(" {} of an inference lie outside of kernels.", share_text(profile.seconds - all, profile.seconds));
  return text;
}

std::string slowest_steps(const ReportProfile& profile) {
  std::vector<const ReportStep*> steps;
  for (const ReportStep& step : profile.steps) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const ReportStep* a, const ReportStep* b) { return a->seconds > b->seconds; });
  if (steps.size() > kTimeListed) steps.resize(kTimeListed);
  const double all = sum_of(profile.steps, &ReportStep::seconds);
  std::string rows;
  for (const ReportStep* step : steps) {
    const bool has = is_time(step->predicted_seconds) && is_time(step->seconds);
    const double off = has ? 100 * (step->seconds / step->predicted_seconds - 1) : 0;
    rows += fmt::format("<tr><td class=\"name\">{}</td><td class=\"name\">{}</td>{}{}{}{}</tr>\n", escaped(step->node),
                        escaped(step->op), number_cell(ms_text(step->seconds), step->seconds),
                        number_cell(share_text(step->seconds, all), step->seconds),
                        number_cell(ms_text(step->predicted_seconds), step->predicted_seconds),
                        number_cell(has ? fmt::format("{:+.0f}%", off) : "", off));
  }
  return fmt::format(
      "<details><summary>The {} slowest kernels</summary>\n<div class=\"picture\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"Slowest kernels\"><table class=\"sorts\"><thead><tr><th scope=\"col\">Computes</th><th "
      "scope=\"col\">Kernel</th><th scope=\"col\" class=\"n\">ms</th><th scope=\"col\" class=\"n\">Share</th><th "
      "scope=\"col\" class=\"n\">predicted ms</th><th scope=\"col\" "
      "class=\"n\">Off</th></tr></thead><tbody>\n{}</tbody></table></div></details>\n",
      steps.size(), rows);
}

}  // namespace

std::string timeline_section(const ReportData& data) {
  const ReportProfile& profile = data.profile;
  const double all = sum_of(profile.steps, &ReportStep::seconds);
  if (profile.steps.empty() || profile.workers.empty() || !is_time(all)) return "";
  const double predicted = sum_of(profile.steps, &ReportStep::predicted_seconds);
  const double px_a_second = kTimeLength / std::max(all, predicted);
  const double bottom = 16 + kTimeLane * static_cast<double>(profile.workers.size());
  Svg svg(960, bottom + 54, "Timeline of an inference",
          fmt::format("{} in {}", count_of(std::ssize(profile.steps), "kernel"), time_text(all)));
  draw_workers(svg, profile, px_a_second);
  svg.text(kTimeLeft + all * px_a_second + 8, 31, time_text(all), "figure strong");
  if (predicted > 0) draw_predicted(svg, profile, bottom + 3, px_a_second);
  const Scale x(0, all * 1e3, kTimeLeft, kTimeLeft + all * px_a_second);
  const double axis = bottom + 20;
  svg.line(kTimeLeft, axis, kTimeLeft + all * px_a_second, axis, "axis");
  for (double tick : x.ticks(8)) {
    svg.line(x(tick), axis, x(tick), axis + 4, "axis");
    svg.text(x(tick), axis + 17, tick_text(tick), "soft", Anchor::middle);
  }
  svg.text(kTimeLeft + all * px_a_second + 8, axis + 17, "ms", "soft");
  return section("timeline", "Timeline", finding_of_timeline(profile),
                 picture("Timeline", svg) + slowest_steps(profile) +
                     "<p class=\"remark\">A kernel's time is the fastest of many inferences; predicted is what tuning "
                     "measured of it alone.</p>\n");
}

}  // namespace whet
