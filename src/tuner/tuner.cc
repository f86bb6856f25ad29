#include "tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/parallel.h"
#include "search/budget.h"
#include "tuner/shape_distance.h"
#include "tuner/task_tuning.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The fastest of a task that are measured again at the end, where the task matters in the network, and how near they
/// must be.
constexpr std::size_t kFinalists = 4;
constexpr double kNear = 1.04, kMatters = 0.005;
/// Of a batch's trials that would be the best so many at a time are measured in turn with it.
constexpr std::size_t kChallengers = 2;
/// So much longer than the champion's is a challenger's first burst that a second one is not worth its time.
constexpr double kClearLead = 1.01;
/// A winner that loses makes room for the next ones this often.
constexpr int kConfirmations = 6;
/// Seconds that comparing one task's fastest takes, and the largest part of a run that all together may take.
constexpr double kReserve = 0.12, kReserveShare = 0.15;
/// Trials between two looks at the sentinel.
constexpr std::int64_t kSentinelTrials = 400;
/// A change of the machine's speed that says nothing: measurements repeat as well.
constexpr double kSteady = 0.05;
/// The pace is asked for with every batch, so that it must be cheap.
constexpr int kPaceBursts = 1;
/// How often a best schedule that seems slower is looked at again, as long as each look finds it faster; and what no
/// machine's pace exceeds. The rest is disturbance, of which candidates beside it need not have had any.
constexpr int kSecondLooks = 3;
constexpr double kSlowestPace = 2;
/// Tasks of the same structure that a new one learns from.
constexpr std::size_t kSuggestions = 2;

/// A machine of 100 GFLOPS and 20 GB/s: enough to tell the heavy tasks from the light ones.
double guessed_seconds(const Task& task) { return flops(task.dag) / 1e11 + bytes(task.dag) / 2e10; }

/// The part of the workload key that says what is computed, without its extents.
std::string structure_of(const Task& task) { return task.key.substr(0, task.key.find(',')); }

/// Nothing against the candidate.
bool says_nothing(OutcomeCode code) { return code == OutcomeCode::device_lost || code == OutcomeCode::unknown; }

/// The same schedules timed once more; what was interrupted says nothing.
void add_figures(std::vector<Outcome>& seen, const std::vector<Outcome>& more) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].ok()) continue;
    if (more[i].ok())
      seen[i].seconds.insert(seen[i].seconds.end(), more[i].seconds.begin(), more[i].seconds.end());
    else if (more[i].code != OutcomeCode::device_lost)
      seen[i] = more[i];
  }
}

class Tuner {
 public:
  Tuner(std::vector<TaskTuning> tasks, const std::vector<Budget::Part>& parts, std::shared_ptr<CostModel> model,
        Measurer& measurer, RecordFile& file, const TuneOptions& options,
        const std::function<void(const TuneProgress&)>& on_round)
      : tasks_(std::move(tasks)),
        budget_(parts, options.budget),
        model_(std::move(model)),
        measurer_(measurer),
        file_(file),
        options_(options),
        on_round_(on_round),
        start_(now()) {
    progress_.allowed_trials = options.trials;
    progress_.allowed_seconds = options.minutes * 60;
    if (options.budget == BudgetPolicy::per_task && options.trials > 0)
      for (TaskTuning& task : tasks_)
        task.progress().allowed = std::max<std::int64_t>(1, options.trials / static_cast<std::int64_t>(tasks_.size()));
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      for (const TaskTuning::Round& round : tasks_[i].earlier_rounds())
        budget_.spend(static_cast<int>(i), round.trials, round.tuning_seconds, round.best_seconds);
  }

  Result<TuneProgress> run() {
    while (const std::optional<int> id = next_task()) {
      TaskTuning& task = tasks_[static_cast<std::size_t>(*id)];
      if (task.progress().trials == 0) suggest(*id);
      const double begin = now();
      WHET_TRY(const int spent, run_round(task));
      budget_.spend(*id, spent, now() - begin, task.progress().best_seconds);
      task.progress().seconds += now() - begin;
      task.progress().measured += spent;
      rest_if_done(*id);
      watch_sentinel();
      report(*id);
    }
    const double searching = progress_.phases.confirm;
    WHET_RETURN_IF_ERROR(confirm_all());
    progress_.phases.finals = progress_.phases.confirm - searching;
    progress_.phases.confirm = searching;
    WHET_RETURN_IF_ERROR(file_.sync());
    return summary(-1);
  }

 private:
  using Trials = std::vector<Trial>;
  /// A trial of what was measured before.
  static Trial again(const Record& r) { return {r.candidate, r.steps, r.predicted, {r.outcome, r.tree_hash}}; }

  /// The algorithm: propose, measure, judge, remember, learn. Gives the number of trials spent.
  Result<int> run_round(TaskTuning& task) {
    round_best_ = kInfinity;
    WHET_RETURN_IF_ERROR(verify_best(task));
    const std::int64_t round = task.progress().trials == 0 ? options_.first_round : options_.round;
    const int allowed = static_cast<int>(std::min(round, trials_left(task)));
    const double before = task.progress().best_seconds;
    task.begin_round();
    int spent = 0;
    while (spent < allowed && !finished()) {
      Trials trials = propose(task, std::min(options_.batch, allowed - spent));
      if (trials.empty()) {
        task.progress().used_up = true;
        break;
      }
      prepare(task, trials);
      WHET_TRY(const Trials done, measure_and_judge(task, trials));
      WHET_RETURN_IF_ERROR(verify_best(task));
      learn(task, done);
      WHET_RETURN_IF_ERROR(give_back_lost(task, trials));
      spent += static_cast<int>(done.size());
    }
    give_up_if_hopeless(task);
    task.progress().stale = task.progress().best_seconds < before ? 0 : task.progress().stale + spent;
    return spent;
  }

  std::optional<int> next_task() const { return finished() ? std::nullopt : budget_.next(); }

  bool finished() const {
    return interrupted() || (options_.trials > 0 && progress_.trials >= options_.trials) ||
           (options_.minutes > 0 && now() - start_ >= options_.minutes * 60 - reserved());
  }
  /// Seconds kept for the comparison at the end, so that the time allowed is the time used.
  double reserved() const {
    if (!options_.confirm) return 0;
    return std::min(kReserveShare * options_.minutes * 60, kReserve * static_cast<double>(tasks_.size()));
  }
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  double now() const { return options_.clock ? options_.clock() : seconds_now(); }

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

  void measure(TaskTuning& task, Trial& trial, double incumbent, double pace) {
    if (!trial.is_schedule()) return;
    const Timed timed(*this, progress_.phases.measure);
    trial.measured =
        measurer_.measure(task.measure_task(), {trial.steps}, std::isfinite(incumbent) ? incumbent * pace : 0).front();
    trial.measured.outcome.pace = pace;
    progress_.phases.building += trial.measured.outcome.build_seconds;
    progress_.phases.running += trial.measured.outcome.run_seconds;
  }

  /// The schedule of a task that the others have to beat, in turn with it: what won the last comparison. It gives the
  /// machine's pace as well, because what disturbs a machine slows schedules down by different factors.
  struct Champion {
    std::string steps;
    double seconds;  ///< in a comparison, at pace 1
  };
  std::optional<Champion> champion_of(const TaskTuning& task) const {
    if (!options_.confirm) return std::nullopt;
    if (const auto found = champions_.find(task.measure_task().key); found != champions_.end()) return found->second;
    const Record* best = task.incumbent(file_.records());
    return best ? std::optional<Champion>({best->steps, best->outcome.best_seconds()}) : std::nullopt;
  }
  void crown(const TaskTuning& task, const Trial& trial) {
    champions_[task.measure_task().key] = {trial.steps, trial.measured.outcome.best_seconds()};
  }

  /// How much slower the machine is now. Candidates of a slow minute would else never stand against those of a fast one,
  /// and the best of a long run would be the luckiest. Where the records rank another schedule first, whose figure is of
  /// no comparison, that one is measured in turn with the champion.
  Result<double> pace_of(TaskTuning& task) {
    std::optional<double> pace;
    for (int i = 0; i < kConfirmations && !interrupted(); ++i) {
      const std::optional<Champion> champion = champion_of(task);
      const Record* first = task.incumbent(file_.records());
      const bool agreed = !champion || !first || first->steps == champion->steps;
      if (!champion || (agreed && pace)) break;
      std::vector<std::string> steps = {champion->steps};
      if (!agreed) steps.push_back(first->steps);
      const std::vector<Outcome> seen = compare(task, steps, kPaceBursts);
      WHET_TRY(const bool stands, stands_after(task, *champion, seen[0]));
      pace = stands ? std::optional(seen[0].pace) : std::nullopt;
      if (!stands) continue;
      if (agreed || seen[1].code == OutcomeCode::device_lost) break;
      Trial rival = again(*first);
      rival.measured.outcome = seen[1];
      WHET_RETURN_IF_ERROR(remember(task, rival));
      WHET_RETURN_IF_ERROR(verify_best(task));
      if (task.is_verified(rival.steps) && seen[1].best_seconds() < champion->seconds) crown(task, rival);
    }
    return pace && std::abs(*pace - 1) > kSteady ? *pace : 1;
  }

  /// False where the champion failed: that is written down, and it is none any more.
  Result<bool> stands_after(TaskTuning& task, const Champion& champion, const Outcome& seen) {
    if (seen.ok()) return true;
    if (says_nothing(seen.code)) return false;
    champions_.erase(task.measure_task().key);
    const Record* last = task.last_record(file_.records(), champion.steps);
    if (!last) return false;
    Trial fallen = again(*last);
    fallen.measured.outcome = seen;
    WHET_RETURN_IF_ERROR(remember(task, fallen));
    WHET_RETURN_IF_ERROR(verify_best(task));
    return false;
  }

  /// Adds figures to those `seen` as long as schedule `k` took longer than `expected` and gets faster by it: what
  /// disturbs a machine for milliseconds is not its pace.
  void look_again(const TaskTuning& task, const std::vector<std::string>& steps, int bursts, std::size_t k,
                  double expected, std::vector<Outcome>& seen) {
    for (int look = 0; look < kSecondLooks && !interrupted(); ++look) {
      const double before = seen[k].best_seconds();
      if (!seen[k].ok() || before <= (1 + kSteady) * expected) return;
      add_figures(seen, measurer_.compare(task.measure_task(), steps, bursts));
      if (seen[k].best_seconds() > (1 - kSteady) * before) return;
    }
  }
  /// Measures the fastest of the trials again, in turn with the champion, until the others seem no faster than what was
  /// found so; those in `compared` were so before. Where there is no champion yet, the fastest is timed as it will be for
  /// the pace: only so do its times compare. The fastest is the last then.
  Status measure_in_turn(TaskTuning& task, std::vector<Trial*>& trials, std::set<const Trial*>& compared) {
    const auto seconds = [](const Trial* trial) { return trial->measured.outcome.best_seconds(); };
    const auto slower = [&](const Trial* a, const Trial* b) { return seconds(a) > seconds(b); };
    for (;;) {
      std::stable_sort(trials.begin(), trials.end(), slower);
      const std::optional<Champion> champion = champion_of(task);
      std::vector<Trial*> lucky;
      for (std::size_t i = trials.size(); i-- > 0 && lucky.size() < (champion ? kChallengers : 1);) {
        if (compared.contains(trials[i]) || seconds(trials[i]) >= (champion ? champion->seconds : kInfinity)) break;
        lucky.push_back(trials[i]);
      }
      if (!options_.confirm || lucky.empty()) return ok_status();
      const Outcome lost{OutcomeCode::device_lost, "interrupted before it was compared"};
      if (interrupted() && !champion) return lucky[0]->measured.outcome = lost, ok_status();
      std::vector<std::string> steps;
      for (const Trial* trial : lucky) steps.push_back(trial->steps);
      if (champion) steps.push_back(champion->steps);
      std::vector<Outcome> seen(steps.size(), lost);
      if (!interrupted()) seen = champion ? challenge(task, steps) : time_first(task, *lucky[0]);
      if (champion) {
        WHET_TRY(const bool stands, stands_after(task, *champion, seen.back()));
        if (!stands && !says_nothing(seen.back().code)) continue;
      }
      for (std::size_t i = 0; i < lucky.size(); ++i) {
        lucky[i]->measured.outcome = seen[i];
        compared.insert(lucky[i]);
      }
    }
  }
  std::vector<Outcome> time_first(const TaskTuning& task, const Trial& trial) {
    const Timed timed(*this, progress_.phases.confirm);
    std::vector<Outcome> seen = measurer_.compare(task.measure_task(), {trial.steps}, kPaceBursts);
    look_again(task, {trial.steps}, kPaceBursts, 0, trial.measured.outcome.best_seconds(), seen);
    return seen;
  }

  /// Measures trials, and gives those that were tried, remembered. Those that would be the best wait until all are
  /// measured; of a task's first, all do.
  Result<Trials> measure_and_judge(TaskTuning& task, Trials& trials) {
    Trials done;
    WHET_TRY(const double pace, pace_of(task));
    const std::optional<Champion> champion = champion_of(task);
    const bool all_wait = options_.confirm && !champion;
    double best = champion ? champion->seconds : task.progress().best_seconds;
    std::vector<Trial*> waiting;
    for (Trial& trial : trials) {
      measure(task, trial, best, pace);
      const Outcome& outcome = trial.measured.outcome;
      if (outcome.code == OutcomeCode::device_lost) continue;
      const bool would_be_best = outcome.best_seconds() < best;
      if (would_be_best && !champion) best = outcome.best_seconds();
      if (would_be_best || (all_wait && outcome.ok())) {
        waiting.push_back(&trial);
        continue;
      }
      WHET_RETURN_IF_ERROR(remember(task, trial));
      done.push_back(trial);
    }
    WHET_RETURN_IF_ERROR(judge(task, std::move(waiting), done));
    return done;
  }

  /// Would-be bests have to beat the champion, where there is one, in turn with it, and the fastest that does must give the
  /// right answers before it is written down; then so are the slower ones.
  Status judge(TaskTuning& task, std::vector<Trial*> waiting, Trials& done) {
    std::set<const Trial*> compared;
    bool settled = false;  // the rest is slower than the one that was right, or than the one an interrupt took away
    for (; !waiting.empty(); waiting.pop_back()) {
      if (!settled) WHET_RETURN_IF_ERROR(measure_in_turn(task, waiting, compared));
      Trial& fastest = *waiting.back();
      const std::optional<Champion> champion = champion_of(task);
      if (!settled && fastest.measured.outcome.best_seconds() < (champion ? champion->seconds : kInfinity)) {
        settled = check(task, fastest.steps, fastest.measured.outcome);
        if (settled && options_.confirm) crown(task, fastest);
      }
      // Interrupted while it was checked or compared: it is as if it had not been tried.
      if (fastest.measured.outcome.code == OutcomeCode::device_lost) {
        settled = settled || !champion;
        continue;
      }
      WHET_RETURN_IF_ERROR(remember(task, fastest));
      done.push_back(fastest);
    }
    return ok_status();
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
    const Timed timed(*this, progress_.phases.check);
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
    if (!trial.measured.outcome.ok() && trial.is_schedule()) {
      const auto champion = champions_.find(record.key);
      if (champion != champions_.end() && champion->second.steps == record.steps) champions_.erase(champion);
    }
    task.progress().best_seconds = std::min(task.progress().best_seconds, trial.measured.outcome.best_seconds());
    return ok_status();
  }

  void learn(TaskTuning& task, const Trials& trials) {
    const Timed timed(*this, progress_.phases.learn);
    task.learn(trials);
    model_->fit_if_grown();
    task.refresh(file_.records());
    progress_.trials += static_cast<std::int64_t>(trials.size());
    for (const Trial& trial : trials) round_best_ = std::min(round_best_, trial.measured.outcome.clock_seconds());
  }

  /// The best is checked where it was not yet: in an earlier run (which is not in the file), or because it became the
  /// best only when a faster one turned out wrong or was measured again. What the check finds against it is written
  /// down, and the next best takes its place.
  Status verify_best(TaskTuning& task) {
    while (const Record* best = task.incumbent(file_.records())) {
      if (task.is_verified(best->steps)) break;
      Trial trial = again(*best);
      if (check(task, trial.steps, trial.measured.outcome)) break;
      if (says_nothing(trial.measured.outcome.code)) break;
      WHET_RETURN_IF_ERROR(remember(task, trial));
    }
    task.refresh(file_.records());
    return ok_status();
  }

  void give_up_if_hopeless(TaskTuning& task) {
    TaskProgress& progress = task.progress();
    if (progress.trials < options_.hopeless_after || progress.failed < progress.trials) return;
    progress.given_up = "all of its first " + std::to_string(progress.trials) + " trials failed";
  }

  /// What one task may have: everything, or with one task after the other an equal part.
  std::int64_t trials_left(const TaskTuning& task) const {
    if (options_.trials == 0) return std::numeric_limits<std::int64_t>::max();
    if (options_.budget != BudgetPolicy::per_task) return options_.trials - progress_.trials;
    return task.progress().allowed - task.progress().measured;
  }
  bool had_its_part(const TaskTuning& task) const {
    if (options_.budget != BudgetPolicy::per_task) return false;
    const double each = options_.minutes * 60 / static_cast<double>(tasks_.size());
    return trials_left(task) <= 0 || (each > 0 && task.progress().seconds >= each);
  }

  /// No more rounds for a task that is used up, hopeless, has had its part or promises too little.
  void rest_if_done(int id) {
    TaskProgress& task = tasks_[static_cast<std::size_t>(id)].progress();
    const bool poor =
        options_.least_gain > 0 && budget_.remaining_gain(id) < options_.least_gain * budget_.network_seconds();
    const bool stale = options_.early_stop > 0 && task.stale >= options_.early_stop;
    task.rests = poor || stale;
    task.done =
        task.rests || task.used_up || !task.given_up.empty() || had_its_part(tasks_[static_cast<std::size_t>(id)]);
    if (task.done) budget_.close(id);
  }

  /// A task begins with what was best for itself under other settings (threads, processor, an older code generator),
  /// then for the nearest shapes of the same structure: other tasks of this network, whose spaces are known, and tasks of
  /// other models in the record file.
  void suggest(int id) {
    TaskTuning& task = tasks_[static_cast<std::size_t>(id)];
    struct Near {
      double distance;
      const Record* best;
      const DesignSpace* space;  ///< null: of another model
    };
    std::vector<Near> list;
    std::set<std::string> seen = {task.measure_task().key};
    if (const auto own = best_of(task.measure_task().key, task); own && !task.applies(*own->record))
      list.push_back({0, own->record, nullptr});
    for (const TaskTuning& other : tasks_)
      if (const Record* best = other.incumbent(file_.records()); best && seen.insert(best->key).second)
        list.push_back({shape_distance(task.measure_task().key, best->key), best, &other.space()});
    for (const std::string_view key : file_.records().keys()) {
      const double distance = shape_distance(task.measure_task().key, key);
      if (!std::isfinite(distance) || !seen.insert(std::string(key)).second) continue;
      if (const auto best = best_of(key, task)) list.push_back({distance, best->record, nullptr});
    }
    std::erase_if(list, [](const Near& near) { return !std::isfinite(near.distance); });
    std::stable_sort(list.begin(), list.end(), [](const Near& a, const Near& b) { return a.distance < b.distance; });
    for (std::size_t i = 0; i < std::min(list.size(), kSuggestions); ++i)
      task.suggest({list[i].best->candidate}, list[i].space);
  }

  /// The best record of a task, as near to how `wanted` is measured as there is.
  std::optional<RecordChoice> best_of(std::string_view key, const TaskTuning& wanted) const {
    return file_.records().best(key, wanted.measure_task().within, wanted.measure_task().target);
  }

  /// One schedule is measured now and then: when it becomes slower, the machine has.
  void watch_sentinel() {
    if (!options_.confirm || (sentinel_ && progress_.trials < sentinel_at_)) return;
    sentinel_at_ = progress_.trials + kSentinelTrials;
    if (!sentinel_)
      for (TaskTuning& task : tasks_)
        if (std::isfinite(task.progress().best_seconds) && (!sentinel_ || heavier(task, *sentinel_))) sentinel_ = &task;
    if (!sentinel_) return;
    if (sentinel_steps_.empty()) sentinel_steps_ = sentinel_->incumbent(file_.records())->steps;
    const Timed timed(*this, progress_.phases.confirm);
    const double seen = measurer_.compare(sentinel_->measure_task(), {sentinel_steps_})[0].best_seconds();
    if (!std::isfinite(seen)) return;
    if (sentinel_seconds_ == 0)
      sentinel_seconds_ = seen;
    else
      progress_.slowdown = seen / sentinel_seconds_;
  }
  static bool heavier(const TaskTuning& a, const TaskTuning& b) {
    return a.progress().weight * a.progress().best_seconds > b.progress().weight * b.progress().best_seconds;
  }

  /// The heaviest tasks first, as long as there is time.
  Status confirm_all() {
    if (!options_.confirm) return ok_status();
    std::vector<TaskTuning*> order;
    for (TaskTuning& task : tasks_) order.push_back(&task);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return heavier(*a, *b); });
    for (TaskTuning* task : order) {
      const bool late = options_.minutes > 0 && now() - start_ > options_.minutes * 60;
      if (interrupted() || late) break;
      WHET_RETURN_IF_ERROR(confirm(*task));
    }
    return ok_status();
  }

  /// Measures the fastest again, in turn with each other, with the champion and with the default schedule; the new figures
  /// go into the records, where later ones count. A winner by luck makes room for the others, which are measured again
  /// in their turn.
  Status confirm(TaskTuning& task) {
    const double share = task.progress().weight * task.progress().best_seconds / summary(-1).network_seconds();
    const std::size_t count = share >= kMatters ? kFinalists : 1;
    std::set<std::string> confirmed;
    for (int i = 0; i < kConfirmations && !interrupted(); ++i) {
      const Record* best = task.incumbent(file_.records());
      if (!best || confirmed.count(best->steps) > 0) break;
      Trials trials = finalists(task, count);
      if (trials.empty()) break;
      WHET_RETURN_IF_ERROR(compare(task, trials));
      for (const Trial& trial : trials) confirmed.insert(trial.steps);
    }
    task.refresh(file_.records());
    return ok_status();
  }

  /// The fastest, what the records rank first, the champion and the default schedule.
  Trials finalists(const TaskTuning& task, std::size_t count) const {
    std::vector<const Record*> list = task.finalists(file_.records(), count, kNear);
    list.push_back(task.incumbent(file_.records()));
    if (const std::optional<Champion> champion = champion_of(task))
      list.push_back(task.last_record(file_.records(), champion->steps));
    list.push_back(task.default_record(file_.records()));
    Trials trials;
    std::set<std::string> seen;
    for (const Record* each : list)
      if (each && seen.insert(each->steps).second) trials.push_back(again(*each));
    return trials;
  }

  /// Times schedules in turn; where the champion is one of them, it gives all their pace.
  std::vector<Outcome> compare(const TaskTuning& task, const std::vector<std::string>& steps, int bursts = 2) {
    const Timed timed(*this, progress_.phases.confirm);
    return with_pace(task, steps, bursts, measurer_.compare(task.measure_task(), steps, bursts));
  }
  /// The same of challengers and the champion, the last of them: only while it does not clearly lead.
  std::vector<Outcome> challenge(const TaskTuning& task, const std::vector<std::string>& steps) {
    const Timed timed(*this, progress_.phases.confirm);
    std::vector<Outcome> seen = measurer_.compare(task.measure_task(), steps, 1);
    const auto is_behind = [&](const Outcome& challenger) {
      return !challenger.ok() || challenger.best_seconds() > kClearLead * seen.back().best_seconds();
    };
    if (!std::all_of(seen.begin(), seen.end() - 1, is_behind))
      add_figures(seen, measurer_.compare(task.measure_task(), steps, 1));
    return with_pace(task, steps, 1, std::move(seen));
  }
  std::vector<Outcome> with_pace(const TaskTuning& task, const std::vector<std::string>& steps, int bursts,
                                 std::vector<Outcome> seen) {
    const std::optional<Champion> champion = champion_of(task);
    const auto at = champion ? std::find(steps.begin(), steps.end(), champion->steps) : steps.end();
    if (at == steps.end()) return seen;
    const std::size_t k = static_cast<std::size_t>(at - steps.begin());
    look_again(task, steps, bursts, k, champion->seconds, seen);
    if (!seen[k].ok()) return seen;
    const double pace = std::min(seen[k].best_seconds() / champion->seconds, kSlowestPace);
    if (pace > 0)
      for (Outcome& outcome : seen) outcome.pace = pace;
    return seen;
  }

  /// Compares trials, remembers the figures, and crowns the fastest whose answers are known to be right.
  Status compare(TaskTuning& task, Trials& trials) {
    std::vector<std::string> steps;
    for (const Trial& trial : trials) steps.push_back(trial.steps);
    const std::vector<Outcome> seen = compare(task, steps);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (seen[i].code == OutcomeCode::device_lost) continue;
      trials[i].measured.outcome = seen[i];
      WHET_RETURN_IF_ERROR(remember(task, trials[i]));
    }
    WHET_RETURN_IF_ERROR(verify_best(task));
    const Trial* fastest = nullptr;
    for (const Trial& trial : trials) {
      const double seconds = trial.measured.outcome.best_seconds();
      if (task.is_verified(trial.steps) && (!fastest || seconds < fastest->measured.outcome.best_seconds()))
        fastest = &trial;
    }
    if (fastest && fastest->measured.outcome.ok()) crown(task, *fastest);
    return ok_status();
  }

  void report(int id) {
    if (on_round_) on_round_(summary(id));
  }

  TuneProgress summary(int id) {
    progress_.tasks.clear();
    for (const TaskTuning& task : tasks_) progress_.tasks.push_back(task.by_the_clock(file_.records()));
    progress_.task = id;
    progress_.next_task = next_task().value_or(-1);
    progress_.seconds = now() - start_;
    progress_.round_best_seconds = round_best_;
    progress_.interrupted = interrupted();
    progress_.failures = failures(failed_);
    progress_.remaining_gain = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (const double gain = budget_.remaining_gain(static_cast<int>(i)); std::isfinite(gain))
        progress_.remaining_gain += gain;
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
  std::shared_ptr<CostModel> model_;
  Measurer& measurer_;
  RecordFile& file_;
  const TuneOptions& options_;
  const std::function<void(const TuneProgress&)>& on_round_;
  double start_;
  double round_best_ = kInfinity;
  TuneProgress progress_;
  Records failed_;                             ///< of this run, for the digest
  std::map<std::string, Champion> champions_;  ///< by task
  TaskTuning* sentinel_ = nullptr;
  std::string sentinel_steps_;
  double sentinel_seconds_ = 0;   ///< when it was measured first
  std::int64_t sentinel_at_ = 0;  ///< trials at which it is measured again
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
  const auto model = std::make_shared<CostModel>(options.seed);
  std::vector<TaskTuning> tunings;
  std::vector<Budget::Part> parts;
  for (const Task& task : tasks) {
    WHET_TRY(TaskTuning tuning, TaskTuning::start(task, static_cast<int>(tunings.size()), target, options,
                                                  measurer.setting(), file.records(), model));
    const auto number = tunings.size();
    tuning.progress().id = number < options.ids.size() ? options.ids[number] : static_cast<int>(number);
    tunings.push_back(std::move(tuning));
    parts.push_back({static_cast<double>(task.weight), guessed_seconds(task), flops(task.dag), structure_of(task)});
  }
  return Tuner(std::move(tunings), parts, model, measurer, file, options, on_round).run();
}

}  // namespace whet
