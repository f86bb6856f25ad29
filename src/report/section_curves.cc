// A curve a task: small pictures of the same form, so that tasks compare at a glance.

#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kCurveWidth = 226, kCurveHeight = 96, kCurveLeft = 2, kCurveRight = 160, kCurveTop = 8,
                 kCurveBottom = 76;
/// Dots of a task, and of all: the page stays below a megabyte.
constexpr std::size_t kDots = 600, kAllDots = 30000;
/// A gain that a table shows as 1.00× is none.
constexpr double kLeastGain = 1.005;
/// Slower candidates than this many times the best lie on the upper edge.
constexpr double kSlowest = 8;

/// Every n-th trial, so that no more than `most` are drawn.
std::string dots(const ReportTask& task, const Scale& x, const Scale& y, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, (task.trials.size() + most - 1) / most);
  std::string d;
  for (std::size_t i = 0; i < task.trials.size(); i += step)
    if (is_time(task.trials[i].seconds))
      d +=
          fmt::format("M{} {}h0", px(x(static_cast<double>(i + 1))), px(y(std::min(task.trials[i].seconds, y.high()))));
  return d;
}

std::string failure_ticks(const ReportTask& task, const Scale& x, std::size_t most) {
  std::string d;
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < task.trials.size() && drawn < most; ++i)
    if (task.trials[i].code != OutcomeCode::ok && ++drawn > 0)
      d += fmt::format("M{} {}v5", px(x(static_cast<double>(i + 1))), px(kCurveBottom + 3));
  return d;
}

std::string best_line(const ReportTask& task, const Scale& x, const Scale& y) {
  std::string d;
  double best = INFINITY;
  for (std::size_t i = 0; i < task.trials.size(); ++i) {
    if (!(task.trials[i].seconds < best) || !is_time(task.trials[i].seconds)) continue;
    best = task.trials[i].seconds;
    const std::string at = px(x(static_cast<double>(i + 1))), height = px(y(std::min(best, y.high())));
    d += d.empty() ? fmt::format("M{} {}", at, height) : fmt::format("H{}V{}", at, height);
  }
  return d.empty() ? d : d + fmt::format("H{}", px(kCurveRight));
}

double best_of_trials(const ReportTask& task) {
  double best = INFINITY;
  for (const ReportTrial& trial : task.trials)
    if (is_time(trial.seconds)) best = std::min(best, trial.seconds);
  return best;
}

std::string curve(const ReportTask& task, std::size_t most, TimeUnit unit) {
  const double best = best_of_trials(task);
  const double known = is_time(task.default_seconds) ? task.default_seconds : best;
  const bool has_time = is_time(best);
  const double low = std::min(best, known);
  const double high = std::max({low * 1.2, known * 1.3, std::min(low * kSlowest, known * 2)});
  const std::string told =
      has_time ? fmt::format("{}, default {}, best {} of {}", to_text(task.label), unit.text(task.default_seconds),
                             unit.text(task.best_seconds), count_of(std::ssize(task.trials), "trial"))
               : fmt::format("{}, none of {} ran", to_text(task.label), count_of(std::ssize(task.trials), "trial"));
  Svg svg(kCurveWidth, kCurveHeight, fmt::format("Task {}", task.id), told);
  const Scale x(0, static_cast<double>(task.trials.size()), kCurveLeft, kCurveRight);
  svg.line(kCurveLeft, kCurveBottom, kCurveRight, kCurveBottom, "axis");
  svg.text(kCurveRight, kCurveBottom + 15, count_text(std::ssize(task.trials)), "soft", Anchor::end);
  svg.path(failure_ticks(task, x, most), "fail");
  if (has_time) {
    const Scale y(low * 0.97, high, kCurveBottom - 2, kCurveTop, true);
    svg.path(dots(task, x, y, most), "dots");
    if (is_time(task.default_seconds)) {
      svg.line(kCurveLeft, y(known), kCurveRight, y(known), "hint");
      if (std::abs(y(known) - y(best)) > 11) svg.text(kCurveRight + 4, y(known) + 4, unit.text(known), "soft");
    }
    svg.path(best_line(task, x, y), "best");
    svg.text(kCurveRight + 4, y(best) + 4, unit.text(best), "strong");
  } else {
    svg.text(kCurveLeft, 44, "no candidate ran", "soft");
  }
  return fmt::format("<figure data-task=\"{}\"><figcaption><b>{}</b> {}</figcaption>{}</figure>\n", task.id, task.id,
                     task_link(task), svg.done());
}

/// Both times are known and alike, or no candidate ran.
bool is_without_gain(const ReportTask& task) {
  return is_compared(task) ? task.default_seconds < kLeastGain * task.best_seconds : !is_time(best_of_trials(task));
}

/// Curves side by side; "" for none.
std::string grid_of(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"small\">\n" + figures + "</div>\n";
}

/// Schedules that are faster alone and not in the network do not count as best: the network runs on others.
std::string told_of_no_gain(const std::vector<ReportTask>& tasks, TimeUnit unit) {
  std::string faster;
  double most = 0;
  for (const ReportTask& task : tasks) {
    const double best = best_of_trials(task), saved = task.weight * (task.default_seconds - best);
    if (!is_time(saved) || saved <= most) continue;
    most = saved;
    faster =
        fmt::format(" Alone, the fastest candidate of {} takes {} instead of {}; in the network that brought nothing.",
                    task_link(task), unit.text(best), unit.text(task.default_seconds));
  }
  return "The network runs each task by its default schedule." + faster;
}

}  // namespace

std::string curves_section(const ReportData& data) {
  const TimeUnit unit = unit_of(data);
  std::vector<std::size_t> drawn;
  std::string gained;
  double most_saved = 0;
  for (std::size_t t : by_cost(data.tasks)) {
    const ReportTask& task = data.tasks[t];
    if (task.trials.empty()) continue;
    drawn.push_back(t);
    const double saved = task.weight * (task.default_seconds - task.best_seconds);
    if (!is_time(saved) || saved <= most_saved) continue;
    most_saved = saved;
    gained = fmt::format("Most was saved in {}: {} → {} a run, {} in the network.", task_link(task),
                         unit.text(task.default_seconds), unit.text(task.best_seconds), unit.text(saved));
  }
  if (drawn.empty()) return "";
  const std::size_t most = std::min(kDots, kAllDots / drawn.size());
  std::string figures, folded;
  std::int64_t without_gain = 0;
  for (std::size_t t : drawn) {
    const bool folds = is_without_gain(data.tasks[t]);
    without_gain += folds ? 1 : 0;
    (folds ? folded : figures) += curve(data.tasks[t], most, unit);
  }
  if (without_gain > 0)
    folded = fmt::format("<details><summary>{} without gain</summary>\n{}</details>\n",
                         count_of(without_gain, "curve of a task", "curves of tasks"), grid_of(folded));
  const std::string finding = gained.empty() ? told_of_no_gain(data.tasks, unit) : gained;
  return section("curves", "A curve a task", finding,
                 grid_of(figures) + folded +
                     "<p class=\"remark\">A dot is a candidate, in the order of its measurement; the line is the "
                     "best so far, dashes the default schedule, ticks below the axis candidates that failed. The "
                     "scale of time is logarithmic, and every picture has its own.</p>\n");
}

}  // namespace whet
