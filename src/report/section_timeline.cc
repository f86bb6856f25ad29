// One inference as it was profiled: its kernels in time, a lane a worker, with the predicted times below.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted.h"
#include "base/spread.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kTimeLeft = 84, kTimeLength = 790, kTimeLane = 24;
/// A share of the time that is worth a word.
constexpr double kLeastAlone = 0.001;
constexpr std::size_t kTimeListed = 12;

double sum_of(const std::vector<ReportStep>& steps, double ReportStep::* seconds) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [&](double sum, const ReportStep& step) { return sum + step.*seconds; });
}

/// What is drawn: an inference as its workers were watched, or the kernels one behind the other, each on all workers that it
/// has.
struct Inference {
  std::vector<ReportStretch> stretches;
  std::vector<double> ends;
  bool watched = false;

  double length() const { return ends.empty() ? 0 : ends.back(); }
  double begin_of(std::size_t step) const { return step == 0 ? 0 : ends[step - 1]; }
  double length_of(std::size_t step) const { return ends[step] - begin_of(step); }
};

Inference inference_of(const ReportProfile& profile) {
  if (!profile.stretches.empty()) return {profile.stretches, profile.ends, true};
  Inference inference;
  double end = 0;
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const double begin = end;
    end += profile.steps[s].seconds;
    inference.ends.push_back(end);
    for (std::size_t w = 0; w < (profile.steps[s].parallel ? profile.workers.size() : 1); ++w)
      inference.stretches.push_back({s, w, begin, end});
  }
  return inference;
}

/// Seconds of all workers in which one waited for others, by step; of steps that one worker runs alone none.
std::vector<double> waiting_of(const Inference& inference, const ReportProfile& profile) {
  std::vector<double> waiting(profile.steps.size());
  for (std::size_t s = 0; s < waiting.size(); ++s)
    if (profile.steps[s].parallel) waiting[s] = static_cast<double>(profile.workers.size()) * inference.length_of(s);
  for (const ReportStretch& stretch : inference.stretches)
    waiting[stretch.step] = std::max(0.0, waiting[stretch.step] - (stretch.end - stretch.begin));
  return waiting;
}

/// "core 0 97%": a worker, and how much of the time it works.
std::string name_of_lane(const Inference& inference, const ReportProfile& profile, std::size_t worker) {
  double busy = 0;
  for (const ReportStretch& stretch : inference.stretches)
    if (stretch.worker == worker) busy += stretch.end - stretch.begin;
  const std::string& name = profile.workers[worker];
  return inference.watched ? name + " " + share_text(busy, inference.length()) : name;
}

void draw_workers(Svg& svg, const Inference& inference, const ReportProfile& profile, double px_a_second,
                  TimeUnit unit) {
  for (std::size_t w = 0; w < profile.workers.size(); ++w)
    svg.text(kTimeLeft - 10, 31 + kTimeLane * static_cast<double>(w), name_of_lane(inference, profile, w), "soft",
             Anchor::end);
  for (const ReportStretch& stretch : inference.stretches) {
    const ReportStep& step = profile.steps[stretch.step];
    const double width = (stretch.end - stretch.begin) * px_a_second;
    svg.box(kTimeLeft + stretch.begin * px_a_second, 16 + kTimeLane * static_cast<double>(stretch.worker),
            std::max(0.3, width - 0.8), kTimeLane - 2, kind_class(step.label.kind),
            fmt::format("{}: {}", step.node, unit.text(stretch.end - stretch.begin)));
    if (const std::string label = label_in(step.label, width - 6); stretch.worker == 0 && !label.empty())
      svg.text(kTimeLeft + stretch.begin * px_a_second + 3, 31, label, "on " + kind_class(step.label.kind) + "t");
  }
}

void draw_predicted(Svg& svg, const ReportProfile& profile, double y, double px_a_second, TimeUnit unit) {
  svg.text(kTimeLeft - 10, y + 9, "predicted", "soft", Anchor::end);
  double x = kTimeLeft;
  for (const ReportStep& step : profile.steps) {
    const double width = step.predicted_seconds * px_a_second;
    if (width > 0) svg.box(x, y, std::max(0.3, width - 0.8), 9, kind_class(step.label.kind) + " faded");
    x += width;
  }
  svg.text(x + 8, y + 9, unit.text(sum_of(profile.steps, &ReportStep::predicted_seconds)), "soft");
}

/// What several workers make of the time.
std::string told_of_workers(const Inference& inference, const ReportProfile& profile) {
  const double all = inference.length();
  double alone = 0;
  for (std::size_t s = 0; s < profile.steps.size(); ++s)
    if (!profile.steps[s].parallel) alone += inference.length_of(s);
  std::string text;
  if (alone >= kLeastAlone * all)
    text = fmt::format(" For {} of the time one worker is alone.", share_text(alone, all));
  else if (alone == 0)
    text = " All workers run all of them.";
  if (!inference.watched) return text;
  const std::vector<double> waiting = waiting_of(inference, profile);
  const auto most = std::max_element(waiting.begin(), waiting.end());
  const double sum = std::accumulate(waiting.begin(), waiting.end(), 0.0);
  text += fmt::format(" They wait for each other {} of it",
                      share_text(sum, all * static_cast<double>(profile.workers.size())));
  if (is_time(*most))
    text += fmt::format(", most in {}",
                        escaped(to_text(profile.steps[static_cast<std::size_t>(most - waiting.begin())].label)));
  return text + ".";
}

/// What was predicted of the kernels that were, and what these took.
struct Predicted {
  std::int64_t kernels = 0;
  double expected = 0, took = 0;
  /// Then the machine decided, and what a kernel is off says nothing.
  bool disturbed() const { return is_far_above(took, expected); }
};
Predicted predicted_of(const Inference& inference, const ReportProfile& profile) {
  Predicted sums;
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    if (!is_time(profile.steps[s].predicted_seconds)) continue;
    ++sums.kernels;
    sums.expected += profile.steps[s].predicted_seconds, sums.took += inference.length_of(s);
  }
  return sums;
}

std::string told_of_prediction(const Predicted& sums, const ReportProfile& profile) {
  if (!sums.disturbed()) return "";
  const bool all = sums.kernels == std::ssize(profile.steps);
  return fmt::format(
      " {} {:.1f} times the predicted time: another program ran, or the machine is shared (whet doctor).",
      all ? "That is" : fmt::format("{} of them {}", sums.kernels, for_count(sums.kernels, "takes", "take")),
      sums.took / sums.expected);
}

std::string finding_of_timeline(const Inference& inference, const ReportProfile& profile, TimeUnit unit) {
  const double all = inference.length();
  std::size_t slowest = 0;
  for (std::size_t s = 0; s < profile.steps.size(); ++s)
    if (inference.length_of(s) > inference.length_of(slowest)) slowest = s;
  std::string text = fmt::format(
      "{} {} {}, one after another; the slowest, {}, takes {}.", count_of(std::ssize(profile.steps), "kernel"),
      for_count(std::ssize(profile.steps), "takes", "take"), unit.text(all),
      escaped(to_text(profile.steps[slowest].label)), share_text(inference.length_of(slowest), all));
  if (profile.workers.size() > 1) text += told_of_workers(inference, profile);
  text += told_of_prediction(predicted_of(inference, profile), profile);
  if (is_time(profile.seconds) && profile.seconds > all)
    text +=
        fmt::format(" {} of an inference lies outside of kernels.", share_text(profile.seconds - all, profile.seconds));
  return text;
}

std::string row_of_step(const ReportStep& step, double all, double waits, bool disturbed, TimeUnit unit) {
  const bool has = !disturbed && is_time(step.predicted_seconds) && is_time(step.seconds);
  const double off = has ? 100 * (step.seconds / step.predicted_seconds - 1) : 0;
  return fmt::format("<tr><td class=\"name\">{}</td><td class=\"name\">{}</td>{}{}{}{}{}</tr>\n", escaped(step.node),
                     escaped(step.op), number_cell(unit.number(step.seconds), step.seconds),
                     number_cell(share_text(step.seconds, all), step.seconds),
                     number_cell(unit.number(step.predicted_seconds), step.predicted_seconds),
                     number_cell(has ? fmt::format("{:+.0f}%", off) : "", off),
                     number_cell(waits < 0 ? "" : share_text(waits, 1), waits));
}

std::string slowest_steps(const Inference& inference, const ReportProfile& profile, TimeUnit unit) {
  std::vector<std::size_t> steps(profile.steps.size());
  std::iota(steps.begin(), steps.end(), std::size_t{0});
  std::stable_sort(steps.begin(), steps.end(),
                   [&](std::size_t a, std::size_t b) { return profile.steps[a].seconds > profile.steps[b].seconds; });
  if (steps.size() > kTimeListed) steps.resize(kTimeListed);
  const double all = sum_of(profile.steps, &ReportStep::seconds);
  const std::vector<double> waiting = waiting_of(inference, profile);
  const bool disturbed = predicted_of(inference, profile).disturbed();
  std::string rows;
  for (const std::size_t s : steps) {
    const double held = static_cast<double>(profile.workers.size()) * inference.length_of(s);
    const bool is_known = inference.watched && profile.steps[s].parallel && is_time(held);
    rows += row_of_step(profile.steps[s], all, is_known ? waiting[s] / held : -1, disturbed, unit);
  }
  return fmt::format(
      "<details><summary>The {0} slowest kernels</summary>\n<div class=\"picture\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"Slowest kernels\"><table class=\"sorts\"><thead><tr><th scope=\"col\">Computes</th><th "
      "scope=\"col\">Kernel</th><th scope=\"col\" class=\"n\">{1}</th><th scope=\"col\" class=\"n\">Share</th><th "
      "scope=\"col\" class=\"n\">predicted {1}</th><th scope=\"col\" "
      "class=\"n\">Off</th><th scope=\"col\" "
      "class=\"n\">Waits</th></tr></thead><tbody>\n{2}</tbody></table></div></details>\n",
      steps.size(), unit.name(), rows);
}

}  // namespace

std::string timeline_section(const ReportData& data) {
  const ReportProfile& profile = data.profile;
  if (profile.steps.empty() || profile.workers.empty()) return "";
  const TimeUnit unit = unit_of(data);
  const Inference inference = inference_of(profile);
  const double all = inference.length();
  if (!is_time(all)) return "";
  const double predicted = sum_of(profile.steps, &ReportStep::predicted_seconds);
  const double px_a_second = kTimeLength / std::max(all, predicted);
  const double bottom = 16 + kTimeLane * static_cast<double>(profile.workers.size());
  Svg svg(960, bottom + 54, "Timeline of an inference",
          fmt::format("{} in {}", count_of(std::ssize(profile.steps), "kernel"), unit.text(all)));
  draw_workers(svg, inference, profile, px_a_second, unit);
  svg.text(kTimeLeft + all * px_a_second + 8, 31, unit.text(all), "figure strong");
  if (predicted > 0) draw_predicted(svg, profile, bottom + 3, px_a_second, unit);
  const Scale x(0, unit.value(all), kTimeLeft, kTimeLeft + all * px_a_second);
  const double axis = bottom + 20;
  svg.line(kTimeLeft, axis, kTimeLeft + all * px_a_second, axis, "axis");
  for (double tick : x.ticks(8)) {
    svg.line(x(tick), axis, x(tick), axis + 4, "axis");
    svg.text(x(tick), axis + 17, tick_text(tick), "soft", Anchor::middle);
  }
  svg.text(kTimeLeft + all * px_a_second + 8, axis + 17, unit.name(), "soft");
  const char* remark = inference.watched
                           ? "The fastest of many inferences, with a barrier behind each kernel; a gap in a lane is a "
                             "worker that waits, and the share beside its name is the time in which it works. In the "
                             "table a kernel's time is the fastest of many; predicted is what tuning measured of it "
                             "alone."
                           : "A kernel's time is the fastest of many inferences; predicted is what tuning measured of "
                             "it alone.";
  return section("timeline", "Timeline", finding_of_timeline(inference, profile, unit),
                 picture("Timeline", svg) + slowest_steps(inference, profile, unit) +
                     fmt::format("<p class=\"remark\">{}</p>\n", remark));
}

}  // namespace whet
