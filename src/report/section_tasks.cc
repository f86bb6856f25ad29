// The table of tasks: it is complete without JavaScript; with it columns sort and a word filters.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "cost/limit.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kSparkWidth = 72, kSparkHeight = 16;

/// The best so far over the trials, as large as a word.
std::string spark(const ReportTask& task) {
  double best = task.trials.empty() ? 0 : task.default_seconds, worst = 0;
  std::vector<std::pair<std::size_t, double>> steps;
  for (std::size_t i = 0; i < task.trials.size(); ++i) {
    const double seconds = task.trials[i].seconds;
    if (!is_time(seconds) || (is_time(best) && seconds >= best && !steps.empty())) continue;
    best = std::min(seconds, is_time(best) ? best : seconds);
    worst = std::max(worst, best);
    steps.emplace_back(i, best);
  }
  if (steps.empty()) return "";
  const Scale x(0, static_cast<double>(task.trials.size()), 1, kSparkWidth - 3);
  const Scale y(best, std::max(worst, best * 1.001), kSparkHeight - 3, 2);
  std::string d = fmt::format("M{} {}", px(x(0)), px(y(steps.front().second)));
  for (const auto& [i, seconds] : steps) d += fmt::format("H{}V{}", px(x(static_cast<double>(i))), px(y(seconds)));
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" aria-hidden=\"true\"><path class=\"best\" "
      "d=\"{2}H{3}\"/></svg>",
      px(kSparkWidth), px(kSparkHeight), d, px(kSparkWidth - 3));
}

/// A bar as long as the share.
std::string share_bar(double part, double most) {
  const double width = most > 0 ? 44 * part / most : 0;
  return fmt::format(
      "<svg viewBox=\"0 0 46 10\" width=\"46\" height=\"10\" aria-hidden=\"true\"><rect class=\"bar\" y=\"1\" "
      "width=\"{}\" height=\"8\"/></svg>",
      px(width));
}

double order_of_gain(const ReportTask& task) {
  return is_time(task.default_seconds) && is_time(task.best_seconds) ? task.default_seconds / task.best_seconds : NAN;
}

std::int64_t failures_of(const ReportTask& task) {
  return std::ranges::count_if(task.trials, [](const ReportTrial& trial) { return trial.code != OutcomeCode::ok; });
}

/// What all rows of the table of tasks have in common.
struct TaskTable {
  TimeUnit unit;
  double whole, most;    ///< seconds of all tasks, and of the heaviest
  bool counts_failures;  ///< some candidate failed
  std::string common;    ///< the note that most tasks have, which is told once; "": there is none
};

std::int64_t tasks_with(const std::string& note, const std::vector<ReportTask>& tasks) {
  return std::ranges::count(tasks, note, &ReportTask::note);
}

std::string common_note(const std::vector<ReportTask>& tasks) {
  for (const ReportTask& task : tasks)
    if (2 * tasks_with(task.note, tasks) > std::ssize(tasks)) return task.note;
  return "";
}

std::string task_row(const ReportTask& task, const ReportData& data, const TaskTable& table) {
  const double gflops = is_time(task.best_seconds) ? task.flops / task.best_seconds / 1e9 : NAN;
  const double held =
      is_time(task.best_seconds) && task.limit_seconds > 0 ? task.limit_seconds / task.best_seconds : NAN;
  const std::int64_t failed = failures_of(task);
  std::string cells = number_cell(std::to_string(task.id), task.id);
  cells += fmt::format(
      "<td class=\"name\"><i class=\"{}b\"></i>{}{}</td>", kind_class(task.label.kind), escaped(task.name),
      task.note.empty() || task.note == table.common ? "" : fmt::format("<br><small>{}</small>", escaped(task.note)));
  cells += number_cell(std::to_string(task.weight), task.weight);
  cells += number_cell(table.unit.number(task.default_seconds), task.default_seconds);
  cells += number_cell(fmt::format("<b>{}</b>", table.unit.number(task.best_seconds)), task.best_seconds);
  cells += number_cell(gain_of(task.default_seconds, task.best_seconds), order_of_gain(task));
  cells +=
      number_cell(share_text(cost_of(task), table.whole) + " " + share_bar(cost_of(task), table.most), cost_of(task));
  cells += number_cell(std::isfinite(gflops) && gflops > 0 ? fmt::format("{:.1f}", gflops) : "–", gflops);
  cells += number_cell(
      data.rates.gflops > 0 && gflops <= kMostOfPeak * data.rates.gflops ? share_text(gflops, data.rates.gflops) : "–",
      gflops);
  cells += fmt::format("<td class=\"limit\" data-v=\"{}\" title=\"{}\">{}</td>",
                       std::isfinite(held) ? fmt::format("{:.6g}", held) : "", escaped(task.limit_why),
                       std::isfinite(held) ? escaped(task.limit) + " " + share_text(held, 1) : "–");
  cells += number_cell(count_text(std::ssize(task.trials)), static_cast<double>(task.trials.size()));
  if (table.counts_failures) cells += number_cell(failed == 0 ? "" : count_text(failed), static_cast<double>(failed));
  return fmt::format("<tr id=\"task-{}\">{}<td>{}</td></tr>\n", task.id, cells, spark(task));
}

std::string finding_of_tasks(const ReportData& data) {
  const std::vector<std::size_t> order = by_cost(data.tasks);
  const double whole = best_sum(data.tasks);
  double part = 0;
  std::size_t count = 0;
  while (count < order.size() && part < whole / 2) part += cost_of(data.tasks[order[count++]]);
  if (!is_time(whole)) return fmt::format("{}; none has been measured.", count_of(std::ssize(data.tasks), "task"));
  return fmt::format("{} of {} {} half of the time; the heaviest, {}, takes {}.", count,
                     count_of(std::ssize(data.tasks), "task"),
                     for_count(static_cast<std::int64_t>(count), "takes", "take"), task_link(data.tasks[order.front()]),
                     share_text(cost_of(data.tasks[order.front()]), whole));
}

}  // namespace

std::string tasks_section(const ReportData& data) {
  if (data.tasks.empty()) return "";
  const TimeUnit unit = unit_of(data);
  const std::string titles = fmt::format(
      "<th scope=\"col\" class=\"n\">Task</th><th scope=\"col\">Computes</th><th scope=\"col\" class=\"n\">Weight</th>"
      "<th scope=\"col\" class=\"n\">Default<br>{0}</th><th scope=\"col\" class=\"n\">Best<br>{0}</th>"
      "<th scope=\"col\" class=\"n\">Gain</th><th scope=\"col\" class=\"n\">Share</th>"
      "<th scope=\"col\" class=\"n\">GFLOPS</th><th scope=\"col\" class=\"n\">of peak</th>"
      "<th scope=\"col\">Held by</th><th scope=\"col\" class=\"n\">Trials</th>",
      unit.name());
  constexpr const char* kFailed = "<th scope=\"col\" class=\"n\">Failed</th>";
  constexpr const char* kBest = "<th scope=\"col\" class=\"plain\">Best so far</th>";
  const std::vector<std::size_t> order = by_cost(data.tasks);
  const TaskTable table{unit, best_sum(data.tasks), cost_of(data.tasks[order.front()]),
                        std::ranges::any_of(data.tasks, [](const ReportTask& task) { return failures_of(task) > 0; }),
                        common_note(data.tasks)};
  std::string rows;
  for (std::size_t t : order) rows += task_row(data.tasks[t], data, table);
  const std::string body = fmt::format(
      "<p class=\"filter\" hidden><label>Only tasks with <input type=\"search\" id=\"filter\" "
      "aria-describedby=\"shown\"></label> <span id=\"shown\" role=\"status\"></span></p>\n"
      "<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"Table of tasks\"><table id=\"tasks-table\" "
      "class=\"sorts\">\n<thead><tr>{}{}{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n"
      "<p class=\"remark\">Weight is how often the network runs the task; share is weight × best by the sum of all. "
      "Held by: the nearest limit of this machine, and the share of it that is reached.{}</p>\n",
      titles, table.counts_failures ? kFailed : "", kBest, rows,
      table.common.empty()
          ? ""
          : fmt::format(" Of {} the tuner noted: {}.", count_of(tasks_with(table.common, data.tasks), "task"),
                        escaped(table.common)));
  return section("tasks", "Tasks", finding_of_tasks(data), body);
}

}  // namespace whet
