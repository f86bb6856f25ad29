#include "tuner/quick_round.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/arithmetic.h"
#include "cost/features.h"
#include "tuner/answers.h"

namespace whet {
namespace {

/// A task below this share of the network is not worth its builds.
constexpr double kWorthItsBuilds = 0.001;
/// About what a schedule takes, building included [s].
constexpr double kCandidateSeconds = 0.025;
/// Schedules of the base that are timed together at most.
constexpr std::size_t kTogether = 2;

class Quick {
 public:
  Quick(std::span<TaskTuning> tasks, Measurer& measurer, RunLog& log, const QuickOptions& options)
      : tasks_(tasks), measurer_(measurer), log_(log), options_(options), start_(log.now()) {}

  Result<QuickRound> run() {
    for (TaskTuning& task : tasks_) task.refresh(log_.records());
    std::size_t together = 0;
    for (std::int64_t before = -1; before < round_.trials;) {
      before = round_.trials;
      const std::vector<std::size_t> order = next_order();
      if (order.empty() || ends()) break;
      together = together == 0 ? quick_candidates(order.size(), room()) : kTogether;
      WHET_RETURN_IF_ERROR(pass(order, together));
    }
    round_.tasks = static_cast<std::int64_t>(timed_.size());
    round_.seconds = log_.now() - start_;
    return round_;
  }

 private:
  /// Schedules of one task that are timed together.
  struct Turn {
    std::size_t task = 0;
    std::vector<Trial> trials;
    bool begins_with_known = false;  ///< the first one was measured before
    bool has_moved = false;          ///< in another placement of the processors
    std::size_t new_trials() const { return trials.size() - (begins_with_known && !trials.empty() ? 1 : 0); }
  };

  bool ends() const {
    return lost_ || log_.interrupted() || log_.now() >= (reaches_new_ ? options_.until : options_.again_until) ||
           (options_.trials > 0 && round_.trials >= options_.trials);
  }

  /// How many more schedules there are time and trials for, beside those that tasks need to be reached at all.
  double room() const {
    const double in_time = (options_.again_until - log_.now()) / kCandidateSeconds;
    return options_.trials > 0 ? std::min(in_time, static_cast<double>(options_.trials - round_.trials)) : in_time;
  }

  std::vector<std::size_t> next_order() {
    std::vector<QuickTask> list;
    const auto is_new = [&](std::size_t task) { return tasks_[task].progress().trials == 0; };
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      list.push_back({tasks_[i].progress().weight * usual_seconds(tasks_[i]), tasks_[i].expected_gain(), is_new(i)});
    std::vector<std::size_t> order = quick_order(list);
    reaches_new_ = std::ranges::any_of(order, is_new);
    return order;
  }
  static double usual_seconds(const TaskTuning& task) {
    if (std::isfinite(task.progress().default_seconds)) return task.progress().default_seconds;
    const Result<Scheduled> usual = task.space().schedule(task.space().default_candidate());
    return usual.ok() ? analytic_seconds(usual->tree, task.measure_task().target) : 0;
  }

  Status pass(const std::vector<std::size_t>& order, std::size_t together) {
    const bool builds_beside = measurer_.concurrent_tasks() > 1;  // else nothing compiles while something is timed
    Turn next = take(order.front(), together);
    std::future<void> building = build(next);
    for (std::size_t i = 0; i < order.size(); ++i) {
      wait_for(building);
      if (ends()) break;
      Turn now = std::exchange(next, {});
      if (i + 1 < order.size()) next = take(order[i + 1], together, now.new_trials());
      if (builds_beside) building = build(next);
      const double begin = log_.now();
      measure(now);
      if (!builds_beside) building = build(next);
      WHET_TRY(const int trials, judge(now));
      if (trials > 0 && options_.on_task) options_.on_task(now.task, trials, log_.now() - begin);
    }
    wait_for(building);
    if (!next.trials.empty()) give_back(next, next.trials);
    return ok_status();
  }

  ///   promised  trials that are about to be measured
  Turn take(std::size_t number, std::size_t together, std::size_t promised = 0) {
    TaskTuning& task = tasks_[number];
    Turn turn{number, {}};
    std::size_t left = together + 1;
    if (options_.trials > 0)
      left = std::min(left, static_cast<std::size_t>(std::max<std::int64_t>(
                                0, options_.trials - round_.trials - static_cast<std::int64_t>(promised))));
    if (left == 0) return turn;
    if (const Record* best = task.incumbent(log_.records())) {
      turn.trials.push_back(again(*best));
      turn.begins_with_known = true;
    } else if (std::optional<Trial> usual = task.take_default()) {
      turn.trials.push_back(std::move(*usual));
      --left;
    }
    for (Trial& trial : task.take_transfers(std::min(left, together))) turn.trials.push_back(std::move(trial));
    if (turn.begins_with_known && turn.trials.size() == 1) turn.trials.clear();  // there is nothing to compare it with
    return turn;
  }

  std::future<void> build(const Turn& turn) {
    if (turn.trials.empty()) return {};
    return std::async(std::launch::async, [this, &task = tasks_[turn.task].measure_task(), steps = steps_of(turn)] {
      measurer_.prepare(task, steps);
    });
  }
  void wait_for(std::future<void>& building) {
    const RunLog::Timed timed(log_, log_.phases.measure);
    if (building.valid()) building.get();
  }
  static std::vector<std::string> steps_of(const Turn& turn) {
    std::vector<std::string> steps;
    for (const Trial& trial : turn.trials) steps.push_back(trial.steps);
    return steps;
  }

  void measure(Turn& turn) {
    if (turn.trials.empty()) return;
    const RunLog::Timed timed(log_, log_.phases.measure);
    const Outcome before = turn.trials.front().measured.outcome;
    std::vector<Measured> seen = measurer_.glance(tasks_[turn.task].measure_task(), steps_of(turn));
    for (std::size_t i = 0; i < seen.size(); ++i) {
      turn.trials[i].measured = std::move(seen[i]);
      log_.phases.building += turn.trials[i].measured.outcome.build_seconds;
      log_.phases.running += turn.trials[i].measured.outcome.run_seconds;
    }
    turn.has_moved = turn.begins_with_known && differ(before.placement, turn.trials.front().measured.outcome.placement);
    if (turn.begins_with_known && !turn.has_moved) set_pace(turn.trials, before.best_seconds());
  }
  /// Times of now compare with what the first one took when it was measured before.
  void set_pace(std::vector<Trial>& trials, double before) {
    const double pace = trials.front().measured.outcome.best_seconds() / before;
    if (std::isfinite(pace) && pace > 0)
      for (Trial& trial : trials) trial.measured.outcome.pace = pace;
  }

  /// Checks the winner, writes down what is new or turned out wrong, and learns from the new ones, whose number it gives.
  Result<int> judge(Turn& turn) {
    if (turn.trials.empty()) return 0;
    TaskTuning& task = tasks_[turn.task];
    check_winner(task, turn.trials);
    std::vector<Trial> learned, lost;
    task.begin_round();
    for (std::size_t i = 0; i < turn.trials.size(); ++i) {
      const Trial& trial = turn.trials[i];
      const bool is_known = i == 0 && turn.begins_with_known;
      if (trial.measured.outcome.code == OutcomeCode::device_lost) {
        lost_ = true;
        if (!is_known) lost.push_back(trial);
        continue;
      }
      if (is_known && trial.measured.outcome.ok() && !turn.has_moved) continue;
      WHET_RETURN_IF_ERROR(log_.remember(task, trial));
      if (!is_known) learned.push_back(trial);
    }
    task.give_back(std::move(lost));
    task.learn(learned);
    task.refresh(log_.records());
    timed_.insert(turn.task);
    round_.trials += std::ssize(learned);
    return static_cast<int>(learned.size());
  }
  void check_winner(TaskTuning& task, std::vector<Trial>& trials) {
    std::vector<Trial*> order;
    for (Trial& trial : trials) order.push_back(&trial);
    std::ranges::stable_sort(order, {}, [](const Trial* trial) { return trial->measured.outcome.best_seconds(); });
    for (Trial* trial : order) {
      if (!trial->measured.outcome.ok() || has_right_answers(task, *trial, measurer_, log_)) return;
      if (says_nothing(trial->measured.outcome.code)) return;
    }
  }

  void give_back(Turn& turn, std::vector<Trial>& trials) {
    if (turn.begins_with_known) trials.erase(trials.begin());
    tasks_[turn.task].give_back(std::move(trials));
  }

  std::span<TaskTuning> tasks_;
  Measurer& measurer_;
  RunLog& log_;
  const QuickOptions& options_;
  const double start_;
  std::set<std::size_t> timed_;
  bool reaches_new_ = false;  ///< the pass has tasks that were never timed
  bool lost_ = false;         ///< the device, or the user interrupted
  QuickRound round_;
};

}  // namespace

std::vector<std::size_t> quick_order(const std::vector<QuickTask>& tasks) {
  double all = 0;
  for (const QuickTask& task : tasks) all += task.seconds;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].seconds >= kWorthItsBuilds * all && (tasks[i].gain > 1 || tasks[i].is_new)) order.push_back(i);
  const auto worth = [&](std::size_t i) { return tasks[i].seconds * (tasks[i].gain - 1); };
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return std::pair(worth(i), tasks[i].seconds); });
  return order;
}

std::size_t quick_candidates(std::size_t tasks, double room) {
  return static_cast<double>(tasks * (kTogether + 1)) <= room ? kTogether : 1;
}

Result<QuickRound> quick_round(std::span<TaskTuning> tasks, Measurer& measurer, RunLog& log,
                               const QuickOptions& options) {
  return Quick(tasks, measurer, log, options).run();
}

}  // namespace whet
