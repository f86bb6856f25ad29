#include "cli/screen.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "workflow/rates.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

constexpr const char* kNone = "–";
/// A control schedule this much slower than at first is worth a sentence.
constexpr double kSlower = 1.1;

std::string milliseconds(double seconds) {
  return std::isfinite(seconds) ? fmt::format("{:.4f}", seconds * 1e3) : kNone;
}

double gflops_of(const TaskProgress& task) {
  return std::isfinite(task.best_seconds) ? task.flops / task.best_seconds / 1e9 : 0;
}

std::string percent_of_peak(const TaskProgress& task, double peak_gflops) {
  const double gflops = gflops_of(task);
  return gflops > 0 && peak_gflops > 0 && gflops <= kMostOfPeak * peak_gflops
             ? fmt::format("{:.0f}%", 100 * gflops / peak_gflops)
             : kNone;
}

/// The numbers of the tasks that are shown, ascending: all, or those that cost most.
std::vector<std::size_t> shown_tasks(const TuneProgress& progress, int rows) {
  std::vector<std::size_t> ids(progress.tasks.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  if (rows <= 0 || ids.size() <= static_cast<std::size_t>(rows)) return ids;
  const auto cost = [&](std::size_t id) {
    const TaskProgress& task = progress.tasks[id];
    return std::isfinite(task.best_seconds) ? task.weight * task.best_seconds : 0;
  };
  std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  ids.resize(static_cast<std::size_t>(rows));
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// " (20 of 24 tasks)" as long as some do not count; "" where all do.
std::string part_text(std::int64_t tasks, const TuneProgress& progress) {
  return tasks < std::ssize(progress.tasks) ? fmt::format(" ({} of {} tasks)", tasks, progress.tasks.size()) : "";
}

/// Milliseconds of a whole network: a small one has more digits.
std::string total_ms(double seconds) { return fmt::format("{:.{}f}", seconds * 1e3, seconds < 1e-3 ? 4 : 3); }

std::int64_t timed_tasks(const TuneProgress& progress) {
  return std::ranges::count_if(progress.tasks, [](const TaskProgress& t) { return std::isfinite(t.best_seconds); });
}

/// "5.120 ms", or "3.900 ms (20 of 24 tasks)" as long as some have no time.
std::string total_text(const TuneProgress& progress) {
  return fmt::format("{} ms{}", total_ms(progress.network_seconds()), part_text(timed_tasks(progress), progress));
}

/// " (default 5.120 ms)"; where fewer tasks have both times, both sums are over these.
std::string default_text(const TuneProgress& progress) {
  const ComparedSums both = progress.compared();
  if (both.tasks == 0) return "";
  if (both.tasks == timed_tasks(progress)) return fmt::format(" (default {} ms)", total_ms(both.default_seconds));
  return fmt::format(" (of {}: default {} -> {} ms)", counted(both.tasks, "task"), total_ms(both.default_seconds),
                     total_ms(both.best_seconds));
}

/// Both sums are over the same tasks; the others are named.
std::string sums_text(const TuneProgress& progress) {
  const ComparedSums both = progress.compared();
  const std::int64_t timed = timed_tasks(progress);
  if (progress.tasks.empty()) return "The model has no tasks: there is nothing to tune\n";
  if (timed == 0) return "No task has a time\n";
  if (both.tasks == 0)
    return fmt::format("Sum of weight x latency: tuned {}; no task has a time by its default schedule\n",
                       total_text(progress));
  std::string text =
      fmt::format("Sum of weight x latency: default {} ms -> tuned {} ms{}", total_ms(both.default_seconds),
                  total_ms(both.best_seconds), part_text(both.tasks, progress));
  if (const std::int64_t rest = timed - both.tasks; rest > 0)
    text += fmt::format("; {} without a time by the default schedule {} {} ms", counted(rest, "task"),
                        for_count(rest, "takes", "take"), total_ms(progress.network_seconds() - both.best_seconds));
  return text + "\n";
}

std::string remaining_text(const TuneProgress& progress) {
  const double left = seconds_left(progress);
  return std::isfinite(left) ? fmt::format("{:.0f} s", left) : kNone;
}

std::string phases_text(const TunePhases& phases, double total, int tasks, int builders) {
  const double all = tasks * (total - phases.finals) + phases.finals;  // one thread alone compares at the end
  const double named =
      phases.propose + phases.measure + phases.check + phases.confirm + phases.record + phases.learn + phases.finals;
  return fmt::format(
      "Time{}: propose {:.1f} s, measure {:.1f} s (building {:.1f} s in {}, running {:.1f} s), check {:.1f} "
      "s, confirm {:.1f} s, record {:.1f} s, learn {:.1f} s, finals {:.1f} s, other {:.1f} s\n",
      tasks > 1 ? fmt::format(" of {} concurrent tasks", tasks) : "", phases.propose, phases.measure, phases.building,
      counted(builders, "process", "processes"), phases.running, phases.check, phases.confirm, phases.record,
      phases.learn, phases.finals, std::max(0.0, all - named));
}

/// " (1.85x)", unless it is no gain of tuning.
std::string ratio_text(const NetworkTruth& truth) {
  if (truth.disturbed) return "";
  if (truth.same_schedules) return ": by the same schedules, so that the difference is chance";
  return fmt::format(" ({:.2f}x)", truth.untuned_seconds / truth.tuned.seconds);
}

/// A line where tasks are faster than the peak allows; "" where none is.
std::string peak_text(const TuneProgress& progress, double peak_gflops) {
  double most = 0;
  for (const TaskProgress& task : progress.tasks) most = std::max(most, gflops_of(task));
  if (!(peak_gflops > 0) || most <= kMostOfPeak * peak_gflops) return "";
  return fmt::format(
      "A task reaches {:.1f} times the peak of {:.1f} GFLOPS, which was measured beside another program, or on a "
      "shared "
      "machine (whet doctor): % peak and the limits say nothing\n",
      most / peak_gflops, peak_gflops);
}

std::string gain_text(const TaskProgress& task) {
  if (!std::isfinite(task.default_seconds) || !std::isfinite(task.best_seconds)) return kNone;
  return fmt::format("{:.2f}x", task.default_seconds / task.best_seconds);
}

}  // namespace

Table progress_table(const TuneProgress& progress, double peak_gflops, int rows) {
  Table table({{"ID"},
               {"Task", false},
               {"Latency (ms)"},
               {"Speed (GFLOPS)"},
               {"% peak"},
               {"Weight", true, 1},
               {"Trials", true, 2},
               {"Failed", true, 3}});
  const std::vector<std::size_t> ids = shown_tasks(progress, rows);
  for (std::size_t id : ids) {
    const TaskProgress& task = progress.tasks[id];
    table.add({std::to_string(task.id), task.name, milliseconds(task.best_seconds),
               gflops_of(task) > 0 ? fmt::format("{:.1f}", gflops_of(task)) : kNone, percent_of_peak(task, peak_gflops),
               std::to_string(task.weight), std::to_string(task.trials), std::to_string(task.failed)});
  }
  if (const std::int64_t rest = std::ssize(progress.tasks) - std::ssize(ids); rest > 0)
    table.add({"", fmt::format("and {} more", rest), "", "", "", "", "", ""});
  return table;
}

std::string progress_lines(const TuneProgress& progress, std::size_t columns) {
  const std::string allowed = progress.allowed_trials > 0 ? fmt::format("/{}", progress.allowed_trials) : "";
  const std::string next = progress.next_task < 0
                               ? std::string(kNone)
                               : std::to_string(progress.tasks[static_cast<std::size_t>(progress.next_task)].id);
  std::string lines, line;
  for (const std::string& part :
       {fmt::format("Estimated total latency: {}{}", total_text(progress), default_text(progress)),
        fmt::format("Trials: {}{}", progress.trials, allowed), fmt::format("Used time: {:.0f} s", progress.seconds),
        "ETA: " + remaining_text(progress), "Next ID: " + next,
        fmt::format("Remaining gain: {} ms", total_ms(progress.remaining_gain))}) {
    std::string longer = line;
    if (!longer.empty()) longer += "   ";
    longer += part;
    if (!line.empty() && columns > 0 && width_of(longer) > columns) {
      lines += line + "\n";
      line = part;
    } else {
      line = longer;
    }
  }
  return lines + (columns > 0 ? shortened(line, columns) : line) + "\n";
}

std::string round_line(const TuneProgress& progress) {
  if (progress.task < 0) return "";
  const TaskProgress& task = progress.tasks[static_cast<std::size_t>(progress.task)];
  const double current =
      std::isfinite(progress.round_best_seconds) ? task.flops / progress.round_best_seconds / 1e9 : 0;
  return fmt::format(
      "[Task {:2}/{}]  Current/Best: {:7.2f}/{:7.2f} GFLOPS | {} ms | Trials: {} ({} failed) | total {} ms | {:.1f} s  "
      "ID {} {}",
      progress.task + 1, progress.tasks.size(), current, gflops_of(task), milliseconds(task.best_seconds), task.trials,
      task.failed, total_ms(progress.network_seconds()), progress.seconds, task.id, task.name);
}

std::string task_line(const TuneProgress& progress) {
  if (progress.task < 0) return "";
  const TaskProgress& task = progress.tasks[static_cast<std::size_t>(progress.task)];
  const double current =
      std::isfinite(progress.round_best_seconds) ? task.flops / progress.round_best_seconds / 1e9 : 0;
  const std::string allowed = task.allowed > 0 ? std::to_string(task.allowed) : "-";
  return fmt::format("[Task {:2}/{}]  Current/Best: {:7.2f}/{:7.2f} GFLOPS | Progress: ({}/{}) | {:.2f} s{}  ID {} {}",
                     progress.task + 1, progress.tasks.size(), current, gflops_of(task), task.measured, allowed,
                     task.seconds, task.done ? " Done." : "", task.id, task.name);
}

std::string closing_report(const TuneProgress& progress, double peak_gflops,
                           const std::vector<std::vector<Limit>>& limits, int builders, std::size_t columns) {
  Table table({{"ID"},
               {"Task", false},
               {"Weight", true, 1},
               {"Default (ms)"},
               {"Best (ms)"},
               {"Gain"},
               {"Speed (GFLOPS)"},
               {"% peak"},
               {"Held by", false},
               {"Trials", true, 2},
               {"Failed", true, 3},
               {"Note", false, 4}});
  int untouched = 0;
  for (std::size_t id = 0; id < progress.tasks.size(); ++id) {
    const TaskProgress& task = progress.tasks[id];
    if (task.trials == 0) {
      ++untouched;
      continue;
    }
    table.add({std::to_string(task.id), task.name, std::to_string(task.weight), milliseconds(task.default_seconds),
               milliseconds(task.best_seconds), gain_text(task),
               gflops_of(task) > 0 ? fmt::format("{:.1f}", gflops_of(task)) : kNone, percent_of_peak(task, peak_gflops),
               id < limits.size() ? held_by(limits[id], task.best_seconds) : "", std::to_string(task.trials),
               std::to_string(task.failed),
               !task.given_up.empty() ? "given up: " + task.given_up
               : task.used_up         ? "space used up"
               : task.rests           ? "rests: no more gain expected"
                                      : ""});
  }
  const Table::Text table_text = table.fitted(columns);
  std::string text = table_text.titles + table_text.rows;
  if (untouched > 0)
    text += fmt::format("{} {} not reached and {} on {}default schedules\n", counted(untouched, "task"),
                        for_count(untouched, "was", "were"), for_count(untouched, "runs", "run"),
                        progress.quick ? "what is known of similar tasks or on " : "");
  if (const std::int64_t count = progress.uncompared; count > 0) text += uncompared_text(count) + "\n";
  text += peak_text(progress, peak_gflops);
  text += sums_text(progress);
  if (const std::string quick = first_round_text(progress); !quick.empty()) text += quick + "\n";
  text += fmt::format("{} in {:.1f} s ({:.1f} a second)\n", counted(progress.trials, "trial"), progress.seconds,
                      progress.seconds > 0 ? static_cast<double>(progress.trials) / progress.seconds : 0);
  text += phases_text(progress.phases, progress.seconds, progress.concurrent_tasks, builders);
  if (progress.slowdown > kSlower)
    text += fmt::format(
        "The machine became {:.0f}% slower while tuning: figures of the end and of the beginning do not "
        "compare; is another program running?\n",
        100 * (progress.slowdown - 1));
  if (progress.placements.several())
    text += fmt::format(
        "The processors lay {}: schedules were chosen that are best over the time of each, where both have times\n",
        to_text(progress.placements));
  for (const FailureGroup& group : progress.failures)
    text += fmt::format("Failed {} with {} {}: {}\n", counted(group.count, "time"), static_cast<int>(group.code),
                        name_of(group.code), group.message);
  return text;
}

std::string network_report(const NetworkTruth& truth) {
  if (truth.untuned_seconds <= 0) return "";
  const TimedModel& tuned = truth.tuned;
  // Of times that say nothing no ratio is printed.
  const auto off = [](bool disturbed, double seconds, double expected) {
    return disturbed ? "" : " (" + off_text(seconds, expected, 1) + ")";
  };
  std::string text = fmt::format("The network{}, measured alternately: untuned {:.4g} ms -> tuned {:.4g} ms{}",
                                 truth.model.empty() ? "" : " " + truth.model, truth.untuned_seconds * 1e3,
                                 tuned.seconds * 1e3, ratio_text(truth));
  if (tuned.predicted_seconds > 0)
    text += fmt::format("; fastest {:.4g} ms, predicted {:.4g}{}", tuned.fastest_seconds * 1e3,
                        tuned.predicted_seconds * 1e3,
                        off(truth.disturbed, tuned.fastest_seconds, tuned.predicted_seconds));
  text += "\n";
  if (!truth.base.empty())
    text += fmt::format("  Untuned is as whet compile makes it without records, by base {}{}\n", truth.base,
                        truth.default_seconds > 0
                            ? fmt::format("; by default schedules it takes {:.4g} ms", truth.default_seconds * 1e3)
                            : "");
  if (truth.tasks_seconds > 0)
    text += fmt::format("Its tasks, measured alternately with it: sum {:.4g} ms, fastest inference {:.4g}{}\n",
                        truth.tasks_seconds * 1e3, truth.beside_tasks_seconds * 1e3,
                        off(truth.disturbed_beside_tasks, truth.beside_tasks_seconds, truth.tasks_seconds));
  if (tuned.weights_bytes > 0)
    text += fmt::format("Its weights: untuned {:.1f} MB -> tuned {:.1f} MB\n",
                        static_cast<double>(truth.untuned_weights_bytes) / 1e6,
                        static_cast<double>(tuned.weights_bytes) / 1e6);
  for (const NetworkTruth::Swap& swap : truth.swaps)
    text += fmt::format("  {} with its second candidate: {:.3f} ms{}\n", swap.task, swap.seconds * 1e3,
                        swap.adopted ? ", faster there: it is the best now" : "");
  if (truth.disturbed)
    text +=
        "  These times are far from the predicted ones, or from each other: another program runs, or the machine is "
        "shared (whet doctor); nothing is concluded from them\n";
  else if (truth.disturbed_beside_tasks)
    text +=
        "  Beside its tasks the network's times are far from each other, or from the sum: another program runs, or the "
        "machine is shared (whet doctor); how much longer it takes than its kernels is not known\n";
  if (truth.unconfirmed)
    text += "  Other schedules seemed faster in it; no time was left to confirm that, so that nothing changes\n";
  if (const std::int64_t reverted = std::ssize(truth.back_to_default); reverted > 0)
    text += fmt::format("  {} that gained little {} on {} schedules, because the network is faster so\n",
                        counted(reverted, "task"), for_count(reverted, "runs", "run"),
                        truth.base.empty() ? "default" : "default or untuned");
  return text;
}

void TuneScreen::show(const TuneProgress& progress) {
  if (per_task_) {
    const bool done = progress.task >= 0 && progress.tasks[static_cast<std::size_t>(progress.task)].done;
    if (terminal_) command_terminal(stdout, "\r\x1b[K");
    fmt::print("{}{}", task_line(progress), terminal_ && !done ? "" : "\n");
    std::fflush(stdout);
    return;
  }
  if (!terminal_) {
    fmt::print("{}\n", round_line(progress));
    std::fflush(stdout);
    return;
  }
  const TerminalSize size = terminal_size();
  const std::size_t columns = static_cast<std::size_t>(size.columns);
  const std::string line = progress_lines(progress, columns);
  const Table::Text table = progress_table(progress, peak_gflops_, std::max(3, size.rows - 6)).fitted(columns);
  if (lines_ > 0) command_terminal(stdout, fmt::format("\x1b[{}A\x1b[J", lines_));
  print(table);
  fmt::print("{}", line);
  std::fflush(stdout);
  const std::string all = table.titles + table.rows + line;
  lines_ = static_cast<int>(std::count(all.begin(), all.end(), '\n'));
}

void TuneScreen::show_compiling(int done, int all, double left) const {
  if (!terminal_) return;
  command_terminal(stdout, "\r\x1b[K");
  const std::string eta = std::isfinite(left) ? fmt::format("   ETA: {:.0f} s", left) : "";
  if (done < all) fmt::print("Compiling the network: {} of {} kernels{}", done, all, eta);
  std::fflush(stdout);
}

void TuneScreen::show_reading(std::int64_t read, std::int64_t all, double left) const {
  if (!terminal_) return;
  command_terminal(stdout, "\r\x1b[K");
  const std::string eta = std::isfinite(left) ? fmt::format("   ETA: {:.0f} s", left) : "";
  if (read < all) fmt::print("Reading the model: {} of {} sizes{}", read, all, eta);
  std::fflush(stdout);
}

void TuneScreen::show_ladder(const LadderProgress& progress, double left) const {
  if (!terminal_) return;
  command_terminal(stdout, "\r\x1b[K");
  const std::string eta = std::isfinite(left) ? fmt::format("   ETA: {:.0f} s", left) : "";
  if (progress.done < progress.tasks)
    fmt::print("Kernels for ranges: {} of {} tasks, {} times{}", progress.done, progress.tasks, progress.times, eta);
  std::fflush(stdout);
}

}  // namespace whet
