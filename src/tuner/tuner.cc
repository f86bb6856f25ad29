#include "tuner/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "search/budget.h"
#include "tuner/task_tuning.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A winner that loses against the default schedule makes room for the next one this often, before the default stands.
constexpr int kConfirmations = 3;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A machine of 100 GFLOPS and 20 GB/s: enough to tell the heavy tasks from the light ones.
double guessed_seconds(const Task& task) { return flops(task.dag) / 1e11 + bytes(task.dag) / 2e10; }

class Tuner {
 public:
  Tuner(std::vector<TaskTuning> tasks, const std::vector<Budget::Part>& parts, Measurer& measurer, RecordFile& file,
        const TuneOptions& options, const std::function<void(const TuneProgress&)>& on_round)
      : tasks_(std::move(tasks)),
        budget_(parts),
        measurer_(measurer),
        file_(file),
        options_(options),
        on_round_(on_round),
        start_(now()) {
    progress_.allowed_trials = options.trials;
    progress_.allowed_seconds = options.minutes * 60;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskProgress& task = tasks_[i].progress();
      if (task.reused > 0) budget_.spend(static_cast<int>(i), static_cast<int>(task.trials), task.best_seconds);
    }
  }

  Result<TuneProgress> run() {
    while (const std::optional<int> id = next_task()) {
      TaskTuning& task = tasks_[static_cast<std::size_t>(*id)];
      WHET_TRY(const int spent, run_round(task));
      budget_.spend(*id, spent, task.progress().best_seconds);
      if (task.progress().used_up || !task.progress().given_up.empty()) budget_.close(*id);
      report(*id);
    }
    if (options_.confirm && !interrupted())
      for (TaskTuning& task : tasks_) WHET_RETURN_IF_ERROR(confirm_winner(task));
    WHET_RETURN_IF_ERROR(file_.sync());
    return summary(-1);
  }

 private:
  using Trials = std::vector<Trial>;

  /// The algorithm: propose, measure, judge, remember, learn. Gives the number of trials spent.
  Result<int> run_round(TaskTuning& task) {
    round_best_ = kInfinity;
    WHET_RETURN_IF_ERROR(verify_resumed(task));
    const int allowed = task.progress().trials == 0 ? options_.first_round : options_.round;
    int spent = 0;
    while (spent < allowed && !finished()) {
      Trials trials = propose(task, std::min(options_.batch, allowed - spent));
      if (trials.empty()) {
        task.progress().used_up = true;
        break;
      }
      prepare(task, trials);
      Trials done;
      for (Trial& trial : trials) {
        measure(task, trial);
        judge(task, trial);
        if (trial.measured.outcome.code == OutcomeCode::device_lost) continue;
        WHET_RETURN_IF_ERROR(remember(task, trial));
        done.push_back(trial);
      }
      learn(task, done);
      WHET_RETURN_IF_ERROR(give_back_lost(task, trials));
      spent += static_cast<int>(done.size());
    }
    give_up_if_hopeless(task);
    return spent;
  }

  std::optional<int> next_task() const { return finished() ? std::nullopt : budget_.next(); }

  bool finished() const {
    return interrupted() || (options_.trials > 0 && progress_.trials >= options_.trials) ||
           (options_.minutes > 0 && now() - start_ >= options_.minutes * 60);
  }
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  double now() const { return options_.clock ? options_.clock() : steady_seconds(); }

  Trials propose(TaskTuning& task, int n) {
    const Timed timed(*this, progress_.phases.propose);
    if (options_.trials > 0) n = static_cast<int>(std::min<std::int64_t>(n, options_.trials - progress_.trials));
    return task.propose(n);
  }

  void prepare(TaskTuning& task, const Trials& trials) {
    const Timed timed(*this, progress_.phases.measure);
    std::vector<std::string> steps;
    for (const Trial& trial : trials)
      if (trial.is_schedule()) steps.push_back(trial.steps);
    measurer_.prepare(task.measure_task(), steps);
  }

  void measure(TaskTuning& task, Trial& trial) {
    if (!trial.is_schedule()) return;
    const Timed timed(*this, progress_.phases.measure);
    const double incumbent = task.progress().best_seconds;
    trial.measured =
        measurer_.measure(task.measure_task(), {trial.steps}, std::isfinite(incumbent) ? incumbent : 0).front();
    progress_.phases.building += trial.measured.outcome.build_seconds;
    progress_.phases.running += trial.measured.outcome.run_seconds;
  }

  /// A would-be best must give the right answers before it counts.
  void judge(TaskTuning& task, Trial& trial) {
    const Timed timed(*this, progress_.phases.check);
    if (trial.measured.outcome.best_seconds() < task.progress().best_seconds)
      check(task, trial.steps, trial.measured.outcome);
  }

  /// Trials that were not tried, because the user interrupted, are proposed again.
  Status give_back_lost(TaskTuning& task, Trials& trials) {
    const auto tried = [](const Trial& trial) { return trial.measured.outcome.code != OutcomeCode::device_lost; };
    const auto first_lost = std::stable_partition(trials.begin(), trials.end(), tried);
    if (first_lost == trials.begin() && !interrupted())
      return Error{"tune: the processes that measure are lost: " + trials.front().measured.outcome.message};
    task.give_back({first_lost, trials.end()});
    return ok_status();
  }

  /// True when the schedule's answers are right; else `outcome` becomes what was found.
  bool check(TaskTuning& task, const std::string& steps, Outcome& outcome) {
    if (task.is_verified(steps)) return true;
    Outcome found = measurer_.check(task.measure_task(), steps);
    if (found.ok()) {
      task.set_verified(steps);
      return true;
    }
    found.build_seconds = outcome.build_seconds;
    found.run_seconds = outcome.run_seconds;
    outcome = std::move(found);
    return false;
  }

  Status remember(TaskTuning& task, const Trial& trial) {
    const Timed timed(*this, progress_.phases.record);
    const Record record = task.record(trial);
    WHET_RETURN_IF_ERROR(file_.append(record));
    if (!trial.measured.outcome.ok()) failed_.add(record);
    task.progress().best_seconds = std::min(task.progress().best_seconds, trial.measured.outcome.best_seconds());
    return ok_status();
  }

  void learn(TaskTuning& task, const Trials& trials) {
    const Timed timed(*this, progress_.phases.learn);
    task.learn(trials);
    task.refresh(file_.records());
    progress_.trials += static_cast<std::int64_t>(trials.size());
    for (const Trial& trial : trials) round_best_ = std::min(round_best_, trial.measured.outcome.best_seconds());
  }

  /// Whether an earlier run checked its best is not in the file, and another version may have written it: it is checked
  /// again.
  Status verify_resumed(TaskTuning& task) {
    while (const Record* best = task.incumbent(file_.records())) {
      if (task.is_verified(best->steps) || task.progress().reused == 0) break;
      Trial again{best->candidate, best->steps, {best->outcome, best->tree_hash}};
      if (check(task, again.steps, again.measured.outcome)) break;
      if (again.measured.outcome.code != OutcomeCode::wrong_answer) break;
      WHET_RETURN_IF_ERROR(remember(task, again));
    }
    task.refresh(file_.records());
    return ok_status();
  }

  void give_up_if_hopeless(TaskTuning& task) {
    TaskProgress& progress = task.progress();
    if (progress.trials < options_.hopeless_after || progress.failed < progress.trials) return;
    progress.given_up = "all of its first " + std::to_string(progress.trials) + " trials failed";
  }

  /// Measures the winner again, in turn with the default schedule. Where it loses, both figures go into the records,
  /// the later ones count, and the next best takes its place.
  Status confirm_winner(TaskTuning& task) {
    const Timed timed(*this, progress_.phases.confirm);
    const std::string& start = task.default_schedule();
    for (int i = 0; i < kConfirmations && !interrupted(); ++i) {
      const Record* best = task.incumbent(file_.records());
      const Record* before = task.default_record(file_.records());
      if (!best || !before || best->steps == start) break;
      Trial winner{best->candidate, best->steps, {best->outcome, best->tree_hash}};
      Trial untuned{before->candidate, before->steps, {before->outcome, before->tree_hash}};
      const bool right = check(task, winner.steps, winner.measured.outcome);
      if (!right) {
        WHET_RETURN_IF_ERROR(remember(task, winner));
        continue;
      }
      const Result<Confirmation> seen = measurer_.confirm(task.measure_task(), untuned.steps, winner.steps);
      if (!seen.ok() || seen->b_seconds <= seen->a_seconds) break;
      winner.measured.outcome.seconds = {seen->b_seconds};
      untuned.measured.outcome.seconds = {seen->a_seconds};
      WHET_RETURN_IF_ERROR(remember(task, untuned));
      WHET_RETURN_IF_ERROR(remember(task, winner));
    }
    task.refresh(file_.records());
    return ok_status();
  }

  void report(int id) {
    if (on_round_) on_round_(summary(id));
  }

  TuneProgress summary(int id) {
    progress_.tasks.clear();
    for (const TaskTuning& task : tasks_) progress_.tasks.push_back(task.progress());
    progress_.task = id;
    progress_.next_task = next_task().value_or(-1);
    progress_.seconds = now() - start_;
    progress_.round_best_seconds = round_best_;
    progress_.interrupted = interrupted();
    progress_.failures = failures(failed_);
    return progress_;
  }

  /// Adds the time that it lives to a phase.
  struct Timed {
    Timed(const Tuner& tuner, double& phase) : tuner(tuner), phase(phase), start(tuner.now()) {}
    ~Timed() { phase += tuner.now() - start; }
    const Tuner& tuner;
    double& phase;
    double start;
  };

  std::vector<TaskTuning> tasks_;
  Budget budget_;
  Measurer& measurer_;
  RecordFile& file_;
  const TuneOptions& options_;
  const std::function<void(const TuneProgress&)>& on_round_;
  double start_;
  double round_best_ = kInfinity;
  TuneProgress progress_;
  Records failed_;  ///< of this run, for the digest
};

/// Sum of weight x `seconds` over the tasks that have it.
double weighted_sum(const std::vector<TaskProgress>& tasks, double TaskProgress::* seconds) {
  double sum = 0;
  for (const TaskProgress& task : tasks)
    if (std::isfinite(task.*seconds)) sum += task.weight * task.*seconds;
  return sum;
}

}  // namespace

double TuneProgress::network_seconds() const { return weighted_sum(tasks, &TaskProgress::best_seconds); }
double TuneProgress::default_network_seconds() const { return weighted_sum(tasks, &TaskProgress::default_seconds); }

Result<TuneProgress> tune(const std::vector<Task>& tasks, const Target& target, Measurer& measurer, RecordFile& file,
                          const TuneOptions& options, const std::function<void(const TuneProgress&)>& on_round) {
  std::vector<TaskTuning> tunings;
  std::vector<Budget::Part> parts;
  for (const Task& task : tasks) {
    WHET_TRY(TaskTuning tuning, TaskTuning::start(task, target, options, file.records()));
    tunings.push_back(std::move(tuning));
    parts.push_back({static_cast<double>(task.weight), guessed_seconds(task)});
  }
  return Tuner(std::move(tunings), parts, measurer, file, options, on_round).run();
}

}  // namespace whet
