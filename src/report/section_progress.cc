// The network's latency while it was tuned: the sum of weight x best after each trial.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// A trial that made the network faster.
struct Improvement {
  double at = 0;
  std::int64_t trial = 0;  ///< how many there were by then
  double seconds = 0;      ///< the sum from then on
};

struct History {
  std::vector<Improvement> steps;  ///< the first is before any trial
  std::int64_t trials = 0;
  double end = 0;  ///< when the last trial was
};

/// Tasks that nothing has been measured of yet count with their default schedules.
History history_of(const std::vector<ReportTask>& tasks) {
  std::vector<std::tuple<double, std::size_t, double>> trials;  // when, of which task, its time
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (const ReportTrial& trial : tasks[t].trials) trials.emplace_back(trial.at, t, trial.seconds);
  std::stable_sort(trials.begin(), trials.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  std::vector<double> best;
  double sum = 0;
  for (const ReportTask& task : tasks) {
    best.push_back(is_time(task.default_seconds) ? task.default_seconds : task.best_seconds);
    if (is_time(best.back())) sum += task.weight * best.back();
  }
  History history;
  history.steps.push_back({0, 0, sum});
  for (const auto& [at, t, seconds] : trials) {
    ++history.trials;
    history.end = at;
    if (!is_time(seconds) || !is_time(best[t]) || seconds >= best[t]) continue;
    sum -= tasks[t].weight * (best[t] - seconds);
    best[t] = seconds;
    history.steps.push_back({at, history.trials, sum});
  }
  // The last comparisons measured the fastest again: what counts now is their figure.
  if (history.trials > 0) history.steps.push_back({history.end, history.trials, best_sum(tasks)});
  return history;
}

struct Panel {
  double left, right;
  const char* unit;
  double last;  ///< of the axis
};
constexpr double kProgressTop = 18, kProgressBottom = 196;

/// The curve, an axis that ends where the data ends, and the figures at both ends.
template <typename Position>
void draw_panel(Svg& svg, const Panel& panel, const History& history, const Scale& y, Position position) {
  const Scale x(0, std::max(panel.last, 1e-9), panel.left, panel.right);
  svg.line(panel.left, kProgressBottom, panel.right, kProgressBottom, "axis");
  for (double tick : x.ticks(panel.right - panel.left > 400 ? 7 : 4)) {
    svg.line(x(tick), kProgressBottom, x(tick), kProgressBottom + 4, "axis");
    svg.text(x(tick), kProgressBottom + 17, tick_text(tick), "soft", Anchor::middle);
  }
  svg.text(panel.right, kProgressBottom + 32, panel.unit, "soft", Anchor::end);
  std::string d = fmt::format("M{} {}", px(panel.left), px(y(history.steps.front().seconds)));
  for (const Improvement& step : history.steps) d += fmt::format("H{}V{}", px(x(position(step))), px(y(step.seconds)));
  svg.path(d + fmt::format("H{}", px(panel.right)), "best");
}

std::string finding_of_progress(const History& history, TimeUnit unit) {
  const double first = history.steps.front().seconds, last = history.steps.back().seconds;
  const auto most = std::find_if(history.steps.begin(), history.steps.end(),
                                 [&](const Improvement& step) { return first - step.seconds >= 0.9 * (first - last); });
  if (first <= last)
    return fmt::format("{} have made the sum of the tasks no smaller: {}.", count_of(history.trials, "trial"),
                       unit.text(last));
  return fmt::format("{} and {} bring the sum of the tasks from {} to {}; nine tenths of that came in the first {}.",
                     count_of(history.trials, "trial"), duration_text(history.end), unit.text(first), unit.text(last),
                     duration_text(most->at));
}

}  // namespace

std::string progress_section(const ReportData& data) {
  const History history = history_of(data.tasks);
  if (history.trials == 0 || !is_time(history.steps.front().seconds)) return "";
  const double first = history.steps.front().seconds, last = history.steps.back().seconds;
  const TimeUnit unit = unit_of(data);
  const std::string told = finding_of_progress(history, unit);
  if (first <= last) return section("progress", "Latency over time", told, "");
  // Far from the sum it would only make the curve flat: the summary has it.
  const double whole = data.network.tuned_seconds;
  const double measured = whole > 0.7 * last && whole < 1.2 * first ? whole : 0;
  const double low = std::min(last, is_time(measured) ? measured : last);
  const Scale y(low - 0.04 * (first - low), std::max(first, measured), kProgressBottom, kProgressTop);
  Svg svg(960, 232, "Latency over time", told);
  const Panel by_time{64, 520, "seconds of tuning", history.end};
  const Panel by_trials{600, 868, "trials", static_cast<double>(history.trials)};
  draw_panel(svg, by_time, history, y, [](const Improvement& step) { return step.at; });
  draw_panel(svg, by_trials, history, y, [](const Improvement& step) { return static_cast<double>(step.trial); });
  svg.text(56, y(first) + 4, unit.text(first), "figure", Anchor::end);
  svg.text(876, y(last) + 4, unit.text(last), "figure strong");
  if (is_time(measured) && std::abs(y(measured) - y(last)) > 2) {
    for (const Panel& panel : {by_time, by_trials}) svg.line(panel.left, y(measured), panel.right, y(measured), "hint");
    const bool is_near = std::abs(y(measured) - y(last)) < 13;
    svg.text(592, y(measured) - 5, "the network, measured " + unit.text(measured), "soft", Anchor::end);
    if (!is_near) svg.text(876, y(measured) + 4, unit.text(measured), "soft");
  }
  return section("progress", "Latency over time", told, picture("Latency over time", svg));
}

}  // namespace whet
