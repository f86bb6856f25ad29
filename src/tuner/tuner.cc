#include "tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/arithmetic.h"
#include "search/budget.h"
#include "tuner/judge.h"
#include "tuner/quick_round.h"
#include "tuner/run_log.h"
#include "tuner/shared_measurer.h"
#include "tuner/suggestions.h"
#include "tuner/task_tuning.h"

namespace whet {
namespace {

/// Of a task that is at least this share of the network, kFinalists are measured again at the end.
constexpr double kMatters = 0.005;
/// Seconds that comparing one task's fastest takes, and the largest part of a run that all together may take.
constexpr double kReserve = 0.12, kReserveShare = 0.15;

/// Schedules of the record base that a task gets, and the part of a run's time that the quick round may take once it has reached all
/// tasks. Until then it may take all except for what comparing the fastest at the end takes.
constexpr std::size_t kSuggested = 4;
constexpr double kQuickShare = 0.5;

/// A machine of 100 GFLOPS and 20 GB/s: enough to tell the heavy tasks from the light ones.
double guessed_seconds(const Task& task) { return flops(task.dag) / 1e11 + bytes(task.dag) / 2e10; }

/// The part of the workload key that says what is computed, without its extents.
std::string structure_of(const Task& task) { return task.key.substr(0, task.key.find(',')); }

bool has_base(const TuneOptions& options) { return options.base != nullptr && !options.base->empty(); }

class Tuner {
 public:
  Tuner(std::vector<TaskTuning> tasks, const std::vector<Budget::Part>& parts, std::shared_ptr<CostModel> model,
        Measurer& measurer, RecordFile& file, const TuneOptions& options,
        const std::function<void(const TuneProgress&)>& on_round)
      : tasks_(std::move(tasks)),
        budget_(parts, options.budget, options.networks),
        model_(std::move(model)),
        alone_(measurer),
        measurer_(measurer, turn_),
        concurrent_(options.budget == BudgetPolicy::per_task ? 1 : std::max(1, measurer.concurrent_tasks())),
        options_(options),
        on_round_(on_round),
        log_(file, options),
        judge_(measurer_, log_, options),
        start_(log_.now()) {
    progress_.concurrent_tasks = concurrent_;
    progress_.allowed_trials = options.trials;
    if (std::isfinite(options.deadline)) progress_.allowed_seconds = std::max(0.0, options.deadline - start_);
    if (options.budget == BudgetPolicy::per_task && options.trials > 0)
      for (TaskTuning& task : tasks_)
        task.progress().allowed = std::max<std::int64_t>(1, options.trials / static_cast<std::int64_t>(tasks_.size()));
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      for (const TaskTuning::Round& round : tasks_[i].earlier_rounds())
        budget_.spend(static_cast<int>(i), round.trials, round.tuning_seconds, round.best_seconds);
    for (std::size_t i = 0; i < tasks_.size(); ++i) know_untuned(static_cast<int>(i));
  }

  Result<TuneProgress> run() {
    WHET_RETURN_IF_ERROR(time_transfers());
    if (options_.quick_only) {
      WHET_RETURN_IF_ERROR(log_.sync());
      return summary(-1);
    }
    std::vector<std::thread> others;
    for (int i = 1; i < concurrent_; ++i) others.emplace_back([this] { run_rounds(); });
    run_rounds();
    for (std::thread& other : others) other.join();
    const std::lock_guard<std::mutex> turn(turn_);
    WHET_RETURN_IF_ERROR(failure_);
    const double searching = log_.phases.confirm;
    WHET_RETURN_IF_ERROR(confirm_all());
    log_.phases.finals = log_.phases.confirm - searching;
    log_.phases.confirm = searching;
    WHET_RETURN_IF_ERROR(log_.sync());
    return summary(-1);
  }

 private:
  using Trials = std::vector<Trial>;

  /// Trials on their way, which count against the run's limit as long as it lives.
  class Promise {
   public:
    Promise(std::int64_t& promised, std::int64_t trials) : promised_(promised), trials_(trials) {
      promised_ += trials_;
    }
    ~Promise() { promised_ -= trials_; }
    Promise(const Promise&) = delete;

   private:
    std::int64_t& promised_;
    std::int64_t trials_;
  };

  /// The quick round, where the base knows anything.
  Status time_transfers() {
    const auto is_known = [](const TaskTuning& task) { return task.expected_gain() > 1; };
    if (!options_.quick_round || options_.finals_only || std::ranges::none_of(tasks_, is_known)) return ok_status();
    QuickOptions quick;
    quick.trials = options_.trials;
    const auto set_ends = [&] {
      if (!std::isfinite(options_.deadline)) return;
      quick.until = options_.deadline - (options_.quick_only ? 0 : reserved());
      quick.again_until = start_ + (options_.quick_only ? 1 : kQuickShare) * (options_.deadline - start_);
    };
    set_ends();
    quick.on_task = [&, this](std::size_t number, int trials, double seconds) {
      const int id = static_cast<int>(number);
      TaskProgress& task = tasks_[number].progress();
      budget_.spend(id, trials, seconds, task.best_seconds);
      know_untuned(id);
      task.seconds += seconds, task.measured += trials, task.quick += trials;
      progress_.trials += trials;
      round_best_ = task.best_seconds;
      model_->fit_if_grown();
      report(id);
      set_ends();  // who heard of it may have moved the deadline
    };
    WHET_TRY(progress_.quick, quick_round(tasks_, alone_, log_, quick));
    return ok_status();
  }

  /// One round after the other, while any thread may still find something to do.
  void run_rounds() {
    std::unique_lock<std::mutex> turn(turn_);
    while (failure_.ok()) {
      if (const std::optional<int> id = next_task()) {
        ++rounds_running_;
        if (const Status done = run_round_of(*id); !done.ok()) failure_ = done;
        --rounds_running_;
        round_ended_.notify_all();
      } else if (rounds_running_ > 0) {
        round_ended_.wait(turn);
      } else {
        break;
      }
    }
  }

  Status run_round_of(int id) {
    TaskTuning& task = tasks_[static_cast<std::size_t>(id)];
    budget_.begin(id);
    if (task.progress().trials == 0) suggest_neighbours(task, tasks_, log_.records(), has_base(options_));
    if (options_.several_sizes) suggest_siblings(task, tasks_, log_.records());
    const double begin = log_.now();
    double best = kInfinity;
    WHET_TRY(const int spent, run_round(task, best));
    round_best_ = best;
    budget_.spend(id, spent, log_.now() - begin, task.progress().best_seconds);
    know_untuned(id);
    task.progress().seconds += log_.now() - begin;
    task.progress().measured += spent;
    rest_if_done(id);
    judge_.watch_control(tasks_, progress_.trials);
    report(id);
    return ok_status();
  }

  /// The algorithm: propose, measure, judge, remember, learn. Gives the number of trials spent; `best` becomes the best
  /// of their times.
  Result<int> run_round(TaskTuning& task, double& best) {
    WHET_RETURN_IF_ERROR(judge_.verify_best(task));
    const bool is_first = task.progress().trials == task.progress().quick;
    const std::int64_t round = is_first ? options_.first_round : options_.round;
    const int allowed = static_cast<int>(std::min(round, trials_left(task)));
    const double before = task.progress().best_seconds;
    task.begin_round();
    int spent = 0;
    while (spent < allowed && !finished()) {
      Trials trials = propose(task, std::min(fitting(), allowed - spent));
      if (trials.empty()) {
        task.progress().used_up = true;
        break;
      }
      const Promise promise(promised_, static_cast<std::int64_t>(trials.size()));
      prepare(task, trials);
      WHET_TRY(const Trials done, judge_.measure_and_judge(task, trials));
      WHET_RETURN_IF_ERROR(judge_.verify_best(task));
      learn(task, done);
      for (const Trial& trial : done) best = std::min(best, trial.measured.outcome.clock_seconds());
      WHET_RETURN_IF_ERROR(give_back_lost(task, trials));
      spent += static_cast<int>(done.size());
    }
    give_up_if_hopeless(task);
    task.progress().stale = task.progress().best_seconds < before ? 0 : task.progress().stale + spent;
    return spent;
  }

  void know_untuned(int id) {
    const double seconds = tasks_[static_cast<std::size_t>(id)].progress().default_seconds;
    if (std::isfinite(seconds)) budget_.set_untuned(id, seconds);
  }

  std::optional<int> next_task() const { return finished() ? std::nullopt : budget_.next(); }

  bool finished() const {
    return log_.interrupted() || options_.finals_only ||
           (options_.trials > 0 && progress_.trials + promised_ >= options_.trials) || seconds_left() <= 0;
  }
  /// Until the fastest have to be compared; infinity without a deadline.
  double seconds_left() const { return options_.deadline - log_.now() - reserved(); }
  /// Seconds kept for the comparison at the end, so that the time allowed is the time used.
  double reserved() const {
    if (!options_.confirm) return 0;
    const double allowed = std::max(0.0, options_.deadline - start_);
    return std::min(kReserveShare * allowed, kReserve * static_cast<double>(tasks_.size()));
  }
  /// The trials that are likely to end before the deadline.
  int fitting() const {
    if (progress_.trials == 0) return options_.batch;
    const double trials = static_cast<double>(progress_.trials) * seconds_left() / (log_.now() - start_);
    return trials < options_.batch ? std::max(1, static_cast<int>(trials)) : options_.batch;
  }

  Trials propose(TaskTuning& task, int n) {
    const RunLog::Timed timed(log_, log_.phases.propose);
    if (options_.trials > 0)
      n = static_cast<int>(std::min<std::int64_t>(n, options_.trials - progress_.trials - promised_));
    return task.propose(n);
  }

  void prepare(TaskTuning& task, const Trials& trials) {
    const RunLog::Timed timed(log_, log_.phases.measure);
    std::vector<std::string> steps;
    for (const Trial& trial : trials)
      if (trial.is_schedule()) steps.push_back(trial.steps);
    measurer_.prepare(task.measure_task(), steps);
  }

  /// Trials that were not tried, because the user interrupted, are proposed again.
  Status give_back_lost(TaskTuning& task, Trials& trials) {
    const auto tried = [](const Trial& trial) { return trial.measured.outcome.code != OutcomeCode::device_lost; };
    const auto first_lost = std::stable_partition(trials.begin(), trials.end(), tried);
    if (first_lost == trials.begin() && !log_.interrupted())
      return Error{"tune: the processes that measure are lost: " + trials.front().measured.outcome.message};
    task.give_back({first_lost, trials.end()});
    return ok_status();
  }

  void learn(TaskTuning& task, const Trials& trials) {
    const RunLog::Timed timed(log_, log_.phases.learn);
    task.learn(trials);
    model_->fit_if_grown();
    task.refresh(log_.records());
    progress_.trials += static_cast<std::int64_t>(trials.size());
  }

  void give_up_if_hopeless(TaskTuning& task) {
    TaskProgress& progress = task.progress();
    if (progress.trials < options_.hopeless_after || progress.failed < progress.trials) return;
    progress.given_up = "all of its first " + std::to_string(progress.trials) + " trials failed";
  }

  /// What one task may have: everything, or with one task after the other an equal part.
  std::int64_t trials_left(const TaskTuning& task) const {
    if (options_.trials == 0) return std::numeric_limits<std::int64_t>::max();
    if (options_.budget != BudgetPolicy::per_task) return options_.trials - progress_.trials - promised_;
    return task.progress().allowed - task.progress().measured;
  }
  bool had_its_part(const TaskTuning& task) const {
    if (options_.budget != BudgetPolicy::per_task) return false;
    const double each = (options_.deadline - start_) / static_cast<double>(tasks_.size());
    return trials_left(task) <= 0 || task.progress().seconds >= each;
  }

  /// No more rounds for a task that is used up, hopeless, has had its part or promises too little.
  void rest_if_done(int id) {
    TaskProgress& task = tasks_[static_cast<std::size_t>(id)].progress();
    const bool poor = options_.least_gain > 0 && budget_.remaining_share(id) < options_.least_gain;
    const bool stale = options_.early_stop > 0 && task.stale >= options_.early_stop;
    task.rests = poor || stale;
    task.done =
        task.rests || task.used_up || !task.given_up.empty() || had_its_part(tasks_[static_cast<std::size_t>(id)]);
    if (task.done) budget_.close(id);
  }

  /// The heaviest tasks first, as long as there is time.
  Status confirm_all() {
    if (!options_.confirm) return ok_status();
    std::vector<TaskTuning*> order;
    for (TaskTuning& task : tasks_) order.push_back(&task);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return is_heavier(*a, *b); });
    progress_.uncompared = std::ranges::count_if(order, [](const auto* task) { return task->progress().trials > 0; });
    double longest = 0;  // that one of them took
    for (TaskTuning* task : order) {
      const double begin = log_.now();
      if (log_.interrupted() || begin + longest > options_.deadline) break;
      progress_.uncompared -= task->progress().trials > 0 ? 1 : 0;
      const double share = task->progress().weight * task->progress().best_seconds / summary(-1).network_seconds();
      WHET_RETURN_IF_ERROR(judge_.confirm(*task, share >= kMatters ? kFinalists : 1));
      WHET_RETURN_IF_ERROR(judge_.rank_over_placements(*task));
      longest = std::max(longest, log_.now() - begin);
    }
    return ok_status();
  }

  void report(int id) {
    if (on_round_) on_round_(summary(id));
  }

  TuneProgress summary(int id) {
    progress_.tasks.clear();
    for (const TaskTuning& task : tasks_) progress_.tasks.push_back(task.by_the_clock(log_.records()));
    progress_.task = id;
    progress_.next_task = next_task().value_or(-1);
    progress_.seconds = log_.now() - start_;
    progress_.round_best_seconds = round_best_;
    progress_.interrupted = log_.interrupted();
    progress_.reached = budget_.reached();
    progress_.failures = log_.failures();
    progress_.slowdown = judge_.slowdown();
    progress_.placements = log_.placements();
    progress_.phases = log_.phases;
    progress_.remaining_gain = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (const double gain = budget_.remaining_gain(static_cast<int>(i)); std::isfinite(gain))
        progress_.remaining_gain += gain;
    return progress_;
  }

  std::vector<TaskTuning> tasks_;
  Budget budget_;
  std::shared_ptr<CostModel> model_;
  Measurer& alone_;  ///< for the one thread that there is at first
  std::mutex turn_;  ///< of the thread that runs: everything here is its
  SharedMeasurer measurer_;
  const int concurrent_;
  int rounds_running_ = 0;
  std::condition_variable round_ended_;
  Status failure_ = ok_status();
  std::int64_t promised_ = 0;  ///< trials that are being measured
  const TuneOptions& options_;
  const std::function<void(const TuneProgress&)>& on_round_;
  RunLog log_;
  Judge judge_;
  double start_;
  double round_best_ = kInfinity;
  TuneProgress progress_;
};

/// Sum of weight x `seconds` over the tasks that have it.
double weighted_sum(const std::vector<TaskProgress>& tasks, double TaskProgress::* seconds) {
  double sum = 0;
  for (const TaskProgress& task : tasks)
    if (std::isfinite(task.*seconds)) sum += task.weight * task.*seconds;
  return sum;
}

}  // namespace

const char* name_of(Winner winner) {
  switch (winner) {
    case Winner::none:
      return "";
    case Winner::usual:
      return "default";
    case Winner::transfer:
      return "transfer";
    case Winner::searched:
      return "searched";
  }
  return "";
}

std::int64_t TuneProgress::winners(Winner winner) const {
  return std::ranges::count(tasks, winner, &TaskProgress::winner);
}
double TuneProgress::network_seconds() const { return weighted_sum(tasks, &TaskProgress::best_seconds); }
double TuneProgress::default_network_seconds() const { return weighted_sum(tasks, &TaskProgress::default_seconds); }
ComparedSums TuneProgress::compared() const {
  ComparedSums sums;
  for (const TaskProgress& task : tasks) {
    if (!std::isfinite(task.default_seconds) || !std::isfinite(task.best_seconds)) continue;
    ++sums.tasks;
    sums.default_seconds += task.weight * task.default_seconds, sums.best_seconds += task.weight * task.best_seconds;
  }
  return sums;
}

Result<TuneProgress> tune(const std::vector<Task>& tasks, const Target& target, Measurer& measurer, RecordFile& file,
                          const TuneOptions& options, const std::function<void(const TuneProgress&)>& on_round) {
  const auto model = std::make_shared<CostModel>(options.seed);
  std::vector<TaskTuning> tunings;
  std::vector<Budget::Part> parts;
  for (const Task& task : tasks) {
    WHET_TRY(TaskTuning tuning, TaskTuning::start(task, static_cast<int>(tunings.size()), target, options,
                                                  measurer.setting(), file.records(), model));
    const auto number = tunings.size();
    tuning.progress().id = number < options.ids.size() ? options.ids[number] : static_cast<int>(number);
    if (has_base(options))
      tuning.suggest(worth_timing(transfers(task.dag, tuning.space(), target, *options.base), kSuggested));
    parts.push_back({static_cast<double>(task.weight), guessed_seconds(task), flops(task.dag), structure_of(task),
                     tuning.expected_gain(), options.uses.empty() ? std::vector<double>() : options.uses[number]});
    tunings.push_back(std::move(tuning));
  }
  return Tuner(std::move(tunings), parts, model, measurer, file, options, on_round).run();
}

}  // namespace whet
