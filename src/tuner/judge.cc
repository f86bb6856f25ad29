#include "tuner/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// How many trials of a batch that would be the best are measured alternately with it at a time.
constexpr std::size_t kChallengers = 2;
/// So much longer than the champion's is a challenger's first burst that a second one is not worth its time.
constexpr double kClearLead = 1.01;
/// A winner that loses makes room for the next ones this often.
constexpr int kConfirmations = 6;
/// How near to the first finalists must be.
constexpr double kNear = 1.04;
/// Trials between two looks at the control schedule.
constexpr std::int64_t kControlTrials = 400;
/// A change of the machine's speed that says nothing: measurements repeat as well.
constexpr double kSteady = 0.05;
/// The pace is asked for with every batch, so that it must be cheap.
constexpr int kPaceBursts = 1;
/// How often a best schedule that seems slower is timed again, as long as each time it is faster; and the largest pace that
/// counts. A larger ratio is noise that other candidates may not have seen.
constexpr int kSecondLooks = 3;
constexpr double kSlowestPace = 2;

/// Nothing against the candidate.
bool says_nothing(OutcomeCode code) { return code == OutcomeCode::device_lost || code == OutcomeCode::unknown; }

/// Adds the figures of the same schedules timed once more; outcomes that were interrupted are left out.
void add_figures(std::vector<Outcome>& seen, const std::vector<Outcome>& more) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].ok()) continue;
    if (more[i].ok())
      seen[i].seconds.insert(seen[i].seconds.end(), more[i].seconds.begin(), more[i].seconds.end());
    else if (more[i].code != OutcomeCode::device_lost)
      seen[i] = more[i];
  }
}

}  // namespace

class Judge::Impl {
 public:
  using Trials = std::vector<Trial>;

  Impl(Measurer& measurer, RunLog& log, const TuneOptions& options)
      : measurer_(measurer), log_(log), options_(options), deciding_(measurer.setting().device) {}

  /// Measures trials, and gives those that were tried, remembered. Those that would be the best wait until all are
  /// measured; of a task's first, all do.
  Result<Trials> measure_and_judge(TaskTuning& task, Trials& trials) {
    Trials done;
    WHET_RETURN_IF_ERROR(take_pace(task));
    const std::optional<Champion> champion = champion_of(task);
    const bool all_wait = options_.confirm && !champion;
    double best = champion ? champion->seconds : task.progress().best_seconds;
    const std::size_t at_once = measurer_.in_jobs() ? trials.size() : 1;
    std::vector<Trial*> waiting;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (i % at_once == 0) measure(task, std::span(trials).subspan(i, at_once), best);
      Trial& trial = trials[i];
      const Outcome& outcome = trial.measured.outcome;
      if (outcome.code == OutcomeCode::device_lost) continue;
      const bool would_be_best = outcome.best_seconds() < best && !outcome.conditions.throttled;
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

  /// The best is checked where it was not yet: in an earlier run (which is not in the file), or because it became the
  /// best only when a faster one turned out wrong or was measured again. What the check finds against it is written
  /// down, and the next best takes its place.
  Status verify_best(TaskTuning& task) {
    while (const Record* best = task.incumbent(log_.records())) {
      if (task.is_verified(best->steps)) break;
      Trial trial = again(*best);
      if (check(task, trial)) break;
      if (says_nothing(trial.measured.outcome.code)) break;
      WHET_RETURN_IF_ERROR(remember(task, trial));
    }
    task.refresh(log_.records());
    return ok_status();
  }

  /// Measures the fastest again, alternately with each other, with the champion and with the default schedule; the new figures
  /// go into the records, where later ones count. A winner by luck makes room for the others, which are measured again
  /// in their turn.
  Status confirm(TaskTuning& task, std::size_t count) {
    std::set<std::string> confirmed;
    for (int i = 0; i < kConfirmations && !log_.interrupted(); ++i) {
      const Record* best = task.incumbent(log_.records());
      if (!best || confirmed.count(best->steps) > 0) break;
      Trials trials = finalists(task, count);
      if (trials.empty()) break;
      WHET_RETURN_IF_ERROR(compare(task, trials));
      for (const Trial& trial : trials) confirmed.insert(trial.steps);
    }
    task.refresh(log_.records());
    return ok_status();
  }

  /// One schedule is measured now and then: when it becomes slower, the machine has.
  void watch_control(std::vector<TaskTuning>& tasks, std::int64_t trials) {
    if (!options_.confirm || (control_ && trials < control_at_)) return;
    control_at_ = trials + kControlTrials;
    if (!control_)
      for (TaskTuning& task : tasks)
        if (std::isfinite(task.progress().best_seconds) && (!control_ || is_heavier(task, *control_))) control_ = &task;
    if (!control_) return;
    if (control_steps_.empty()) control_steps_ = control_->incumbent(log_.records())->steps;
    const RunLog::Timed timed(log_, log_.phases.confirm);
    const Outcome seen = measurer_.compare(control_->measure_task(), {control_steps_})[0];
    const double seconds = seen.best_seconds();
    if (!std::isfinite(seconds) || device_of(seen) != deciding_) return;
    if (control_seconds_ == 0)
      control_seconds_ = seconds;
    else
      slowdown_ = seconds / control_seconds_;
  }
  double slowdown() const { return slowdown_; }

 private:
  const std::string& device_of(const Outcome& outcome) const {
    return outcome.device.empty() ? deciding_ : outcome.device;
  }
  /// One at a time, or all in jobs, which find the pace themselves.
  void measure(TaskTuning& task, std::span<Trial> trials, double best) {
    std::vector<std::string> steps;
    for (const Trial& trial : trials)
      if (trial.is_schedule()) steps.push_back(trial.steps);
    if (steps.empty()) return;
    const RunLog::Timed timed(log_, log_.phases.measure);
    const bool in_jobs = measurer_.in_jobs();
    Incumbent incumbent;
    if (in_jobs)
      incumbent = incumbent_of_jobs(task);
    else if (std::isfinite(best))
      incumbent.seconds = best * pace(task);
    std::vector<Measured> measured = measurer_.measure(task.measure_task(), steps, incumbent);
    std::size_t next = 0;
    for (Trial& trial : trials) {
      if (!trial.is_schedule()) continue;
      trial.measured = std::move(measured[next++]);
      if (!in_jobs) trial.measured.outcome.pace = pace(task);
      log_.phases.building += trial.measured.outcome.build_seconds;
      log_.phases.running += trial.measured.outcome.run_seconds;
    }
  }
  /// The champion; before there is one, the default schedule stands in for it, so that times of different devices compare.
  Incumbent incumbent_of_jobs(const TaskTuning& task) const {
    if (const std::optional<Champion> champion = champion_of(task)) return {champion->seconds, champion->steps};
    return {0, task.default_schedule()};
  }

  /// The schedule of a task that the others have to beat, alternately with it: what won the last comparison. It gives
  /// the machine's pace as well, because what disturbs a machine slows schedules down by different factors.
  struct Champion {
    std::string steps;
    double seconds;  ///< in a comparison, at pace 1
  };
  std::optional<Champion> champion_of(const TaskTuning& task) const {
    if (!options_.confirm) return std::nullopt;
    if (const auto found = champions_.find(&task); found != champions_.end()) return found->second;
    const Record* best = task.incumbent(log_.records());
    return best ? std::optional<Champion>({best->steps, best->outcome.best_seconds()}) : std::nullopt;
  }
  void crown(const TaskTuning& task, const Trial& trial) {
    champions_[&task] = {trial.steps, trial.measured.outcome.best_seconds()};
  }
  /// Writes a trial down; a champion that failed is none any more.
  Status remember(TaskTuning& task, const Trial& trial) {
    WHET_RETURN_IF_ERROR(log_.remember(task, trial));
    if (trial.measured.outcome.ok() || !trial.is_schedule()) return ok_status();
    const auto champion = champions_.find(&task);
    if (champion != champions_.end() && champion->second.steps == trial.steps) champions_.erase(champion);
    return ok_status();
  }

  /// A trial of what was measured before.
  static Trial again(const Record& r) {
    return {r.candidate, r.steps, r.numerics, r.predicted, {r.outcome, r.tree_hash}};
  }

  /// The last known; 1 where none is.
  double& pace(const TaskTuning& task) { return paces_.try_emplace(&task, 1).first->second; }
  /// Times of another pace are no times of this one.
  void set_pace(const TaskTuning& task, double now) {
    double& known = pace(task);
    if (known != now) measurer_.forget(task.measure_task());
    known = now;
  }

  /// Measures how much slower the deciding device is now, unless jobs find the pace themselves. Without it no candidate of
  /// a slow minute could beat one of a fast minute, and the best of a long run would be the luckiest. Where the records
  /// rank another schedule first, whose figure comes from no comparison, that schedule is measured alternately with the
  /// champion.
  Status take_pace(TaskTuning& task) {
    const bool in_jobs = measurer_.in_jobs();
    std::optional<double> pace;
    for (int i = 0; i < kConfirmations && !log_.interrupted(); ++i) {
      const std::optional<Champion> champion = champion_of(task);
      const Record* first = task.incumbent(log_.records());
      const bool agreed = !champion || !first || first->steps == champion->steps;
      if (!champion || (agreed && (pace || in_jobs))) break;
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
    if (!in_jobs) set_pace(task, pace && std::abs(*pace - 1) > kSteady ? *pace : 1);
    return ok_status();
  }

  /// False where the champion failed: that is written down, and it is none any more.
  Result<bool> stands_after(TaskTuning& task, const Champion& champion, const Outcome& seen) {
    if (seen.ok()) return true;
    if (says_nothing(seen.code)) return false;
    champions_.erase(&task);
    const Record* last = task.last_record(log_.records(), champion.steps);
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
    for (int look = 0; look < kSecondLooks && !log_.interrupted(); ++look) {
      const double before = seen[k].best_seconds();
      if (!seen[k].ok() || before <= (1 + kSteady) * expected) return;
      add_figures(seen, measurer_.compare(task.measure_task(), steps, bursts));
      if (seen[k].best_seconds() > (1 - kSteady) * before) return;
    }
  }
  /// Measures the fastest of the trials again, alternately with the champion, until the others seem no faster than what was
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
      if (log_.interrupted() && !champion) return lucky[0]->measured.outcome = lost, ok_status();
      std::vector<std::string> steps;
      for (const Trial* trial : lucky) steps.push_back(trial->steps);
      if (champion) steps.push_back(champion->steps);
      std::vector<Outcome> seen(steps.size(), lost);
      if (!log_.interrupted()) seen = champion ? challenge(task, steps) : time_first(task, *lucky[0]);
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
    const RunLog::Timed timed(log_, log_.phases.confirm);
    std::vector<Outcome> seen = measurer_.compare(task.measure_task(), {trial.steps}, kPaceBursts);
    look_again(task, {trial.steps}, kPaceBursts, 0, trial.measured.outcome.best_seconds(), seen);
    return seen;
  }

  /// Would-be bests have to beat the champion, where there is one, alternately with it, and the fastest that does must give the
  /// right answers before it is written down; then so are the slower ones.
  Status judge(TaskTuning& task, std::vector<Trial*> waiting, Trials& done) {
    std::set<const Trial*> compared;
    bool settled = false;  // the rest is slower than the one that was right, or than the one an interrupt took away
    for (; !waiting.empty(); waiting.pop_back()) {
      if (!settled) WHET_RETURN_IF_ERROR(measure_in_turn(task, waiting, compared));
      Trial& fastest = *waiting.back();
      const std::optional<Champion> champion = champion_of(task);
      if (!settled && fastest.measured.outcome.best_seconds() < (champion ? champion->seconds : kInfinity)) {
        settled = check(task, fastest);
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

  /// True when the schedule's answers are right; else the trial's outcome becomes what was found.
  bool check(TaskTuning& task, Trial& trial) {
    if (task.is_verified(trial.steps)) return true;
    const RunLog::Timed timed(log_, log_.phases.check);
    Outcome& outcome = trial.measured.outcome;
    Outcome found = measurer_.check(task.measure_task(), trial.steps, trial.numerics.precision);
    if (found.ok()) {
      task.set_verified(trial.steps);
      return true;
    }
    found.build_seconds = outcome.build_seconds;
    found.run_seconds = outcome.run_seconds;
    found.registers = outcome.registers;
    found.spill_bytes = outcome.spill_bytes;
    outcome = std::move(found);
    return false;
  }

  /// The fastest, what the records rank first, the champion and the default schedule.
  Trials finalists(const TaskTuning& task, std::size_t count) const {
    std::vector<const Record*> list = task.finalists(log_.records(), count, kNear);
    list.push_back(task.incumbent(log_.records()));
    if (const std::optional<Champion> champion = champion_of(task))
      list.push_back(task.last_record(log_.records(), champion->steps));
    list.push_back(task.default_record(log_.records()));
    Trials trials;
    std::set<std::string> seen;
    for (const Record* each : list)
      if (each && seen.insert(each->steps).second) trials.push_back(again(*each));
    return trials;
  }

  /// Times schedules alternately; where the champion is one of them, it gives all their pace.
  std::vector<Outcome> compare(const TaskTuning& task, const std::vector<std::string>& steps, int bursts = 2) {
    const RunLog::Timed timed(log_, log_.phases.confirm);
    return with_pace(task, steps, bursts, measurer_.compare(task.measure_task(), steps, bursts));
  }
  /// The same of challengers and the champion, the last of them: only while it does not clearly lead.
  std::vector<Outcome> challenge(const TaskTuning& task, const std::vector<std::string>& steps) {
    const RunLog::Timed timed(log_, log_.phases.confirm);
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
    const bool on_deciding = device_of(seen[k]) == deciding_;  // else it was lost, and another one compared
    if (on_deciding) look_again(task, steps, bursts, k, champion->seconds, seen);
    if (!seen[k].ok()) return seen;
    double now = seen[k].best_seconds() / champion->seconds;
    if (on_deciding) now = std::min(now, kSlowestPace);
    if (now > 0)
      for (Outcome& outcome : seen) outcome.pace = now;
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

  Measurer& measurer_;
  RunLog& log_;
  const TuneOptions& options_;
  std::map<const TaskTuning*, Champion> champions_;
  const std::string deciding_;                 ///< the device on which candidates are compared
  std::map<const TaskTuning*, double> paces_;  ///< the last of each task, of the only device
  TaskTuning* control_ = nullptr;
  std::string control_steps_;
  double control_seconds_ = 0, slowdown_ = 0;  ///< the control schedule's first time, and its last against it
  std::int64_t control_at_ = 0;                ///< trials at which it is measured again
};

Judge::Judge(Measurer& measurer, RunLog& log, const TuneOptions& options)
    : impl_(std::make_unique<Impl>(measurer, log, options)) {}
Judge::~Judge() = default;
Result<std::vector<Trial>> Judge::measure_and_judge(TaskTuning& task, std::vector<Trial>& trials) {
  return impl_->measure_and_judge(task, trials);
}
Status Judge::verify_best(TaskTuning& task) { return impl_->verify_best(task); }
Status Judge::confirm(TaskTuning& task, std::size_t count) { return impl_->confirm(task, count); }
void Judge::watch_control(std::vector<TaskTuning>& tasks, std::int64_t trials) { impl_->watch_control(tasks, trials); }
double Judge::slowdown() const { return impl_->slowdown(); }

bool is_heavier(const TaskTuning& a, const TaskTuning& b) {
  return a.progress().weight * a.progress().best_seconds > b.progress().weight * b.progress().best_seconds;
}

}  // namespace whet
