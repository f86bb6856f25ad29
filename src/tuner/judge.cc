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
#include "records/record_line.h"
#include "tuner/answers.h"
#include "tuner/champion.h"
#include "tuner/control.h"
#include "tuner/placements.h"

namespace whet {
namespace {

/// How many trials of a batch that would be the best are measured alternately with it at a time.
constexpr std::size_t kChallengers = 2;
/// A winner that loses makes room for the next ones this often.
constexpr int kConfirmations = 6;
/// How near to the first finalists must be.
constexpr double kNear = 1.04;

}  // namespace

class Judge::Impl {
 public:
  using Trials = std::vector<Trial>;

  Impl(Measurer& measurer, RunLog& log, const TuneOptions& options)
      : measurer_(measurer), log_(log), options_(options), contest_(measurer, log), control_(measurer, log) {}

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
  /// in their turn. Where the processors turn out to have moved, so are the fastest of the placement before.
  Status confirm(TaskTuning& task, std::size_t count) {
    std::set<std::string> confirmed;
    const auto is_left = [&](const Trial& trial) {
      return is_estimate(task, trial) && !confirmed.contains(trial.steps);
    };
    for (int i = 0; i < kConfirmations && !log_.interrupted(); ++i) {
      const Record* best = task.incumbent(log_.records());
      if (!best) break;
      Trials trials = finalists(task, count);
      if (confirmed.contains(best->steps) && std::ranges::none_of(trials, is_left)) break;
      WHET_RETURN_IF_ERROR(compare(task, trials));
      for (const Trial& trial : trials) confirmed.insert(trial.steps);
    }
    task.refresh(log_.records());
    return ok_status();
  }

  Status rank_over_placements(TaskTuning& task) {
    if (!log_.placements().several()) return ok_status();
    const Record* first = task.incumbent(log_.records());
    if (!first) return ok_status();
    const Record* best = best_over(log_.placements(), task.placed(log_.records(), first->outcome.placement));
    if (!best || best->steps == first->steps) return ok_status();
    if (differ(best->outcome.placement, first->outcome.placement)) return ok_status();
    Record record = *best;
    record.ranks_as = std::min(first->ranked_seconds(), best->outcome.best_seconds());
    record.at = utc_now();
    WHET_RETURN_IF_ERROR(log_.append(record));
    return verify_best(task);
  }

  void watch_control(std::vector<TaskTuning>& tasks, std::int64_t trials) {
    if (options_.confirm) control_.watch(tasks, contest_, trials);
  }
  double slowdown() const { return control_.slowdown(); }

 private:
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
    const ProcessorPlacement here = placement_of(task);  // of which the pace is
    std::size_t next = 0;
    for (Trial& trial : trials) {
      if (!trial.is_schedule()) continue;
      trial.measured = std::move(measured[next++]);
      if (!in_jobs && !differ(trial.measured.outcome.placement, here)) trial.measured.outcome.pace = pace(task);
      log_.phases.building += trial.measured.outcome.build_seconds;
      log_.phases.running += trial.measured.outcome.run_seconds;
    }
  }
  /// The champion; before there is one, the default schedule stands in for it, so that times of different devices compare.
  Incumbent incumbent_of_jobs(const TaskTuning& task) const {
    if (const std::optional<Champion> champion = champion_of(task)) return {champion->seconds, champion->steps};
    return {0, task.default_schedule()};
  }

  std::optional<Champion> champion_of(const TaskTuning& task) const {
    if (!options_.confirm) return std::nullopt;
    if (const auto found = champions_.find(&task); found != champions_.end()) return found->second;
    const Record* best = task.incumbent(log_.records());
    if (!best) return std::nullopt;
    return Champion{best->steps, best->outcome.best_seconds(), best->outcome.placement};
  }
  void crown(const TaskTuning& task, const Trial& trial) {
    const Outcome& outcome = trial.measured.outcome;
    champions_[&task] = {trial.steps, outcome.best_seconds(), outcome.placement};
  }
  /// Writes a trial down; a champion that failed is none any more.
  Status remember(TaskTuning& task, const Trial& trial) {
    WHET_RETURN_IF_ERROR(log_.remember(task, trial));
    if (trial.measured.outcome.ok() || !trial.is_schedule()) return ok_status();
    const auto champion = champions_.find(&task);
    if (champion != champions_.end() && champion->second.steps == trial.steps) champions_.erase(champion);
    return ok_status();
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
      std::optional<Champion> champion = champion_of(task);
      const Record* first = task.incumbent(log_.records());
      const bool agreed = !champion || !first || first->steps == champion->steps;
      if (!champion || (agreed && (pace || in_jobs))) break;
      std::vector<std::string> steps = {champion->steps};
      if (!agreed) steps.push_back(first->steps);
      const std::vector<Outcome> seen = contest_.compare(task.measure_task(), steps, champion, kPaceBursts);
      WHET_TRY(const bool stands, stands_after(task, *champion, seen[0]));
      pace = stands ? std::optional(seen[0].pace) : std::nullopt;
      if (!stands) continue;
      if (has_moved(task, *champion, seen[0])) {
        WHET_RETURN_IF_ERROR(confirm(task, streams(task.measure_task()) ? kFinalists : 1));
        pace = 1;
        break;
      }
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

  /// What ranks first, or the champion, was seen in another placement now than that of its last time.
  bool has_moved(const TaskTuning& task, const Champion& champion, const Outcome& seen) const {
    const auto is_elsewhere = [&](const Record* r) { return r && differ(r->outcome.placement, seen.placement); };
    return is_elsewhere(task.incumbent(log_.records())) ||
           is_elsewhere(task.last_record(log_.records(), champion.steps));
  }
  /// That of the last comparison; before one, that of what ranks first.
  ProcessorPlacement placement_of(const TaskTuning& task) const {
    const std::optional<Champion> champion = champion_of(task);
    return champion ? champion->placement : ProcessorPlacement();
  }
  /// Its time is of another placement.
  bool is_estimate(const TaskTuning& task, const Trial& trial) const {
    return differ(trial.measured.outcome.placement, placement_of(task));
  }

  /// False where the champion failed: that is written down, and it is none any more. In another placement it has its time of now.
  Result<bool> stands_after(TaskTuning& task, Champion& champion, const Outcome& seen) {
    if (seen.ok() && differ(champion.placement, seen.placement)) {
      champion.seconds = seen.best_seconds(), champion.placement = seen.placement;
      champions_[&task] = champion;
    }
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

  /// Measures the fastest of the trials again, alternately with the champion, until the others seem no faster than what was
  /// found so; those in `compared` were so before. Where there is no champion yet, the fastest is timed as it will be for
  /// the pace: only so do its times compare. The fastest is the last then.
  Status measure_in_turn(TaskTuning& task, std::vector<Trial*>& trials, std::set<const Trial*>& compared) {
    const auto seconds = [](const Trial* trial) { return trial->measured.outcome.best_seconds(); };
    const auto slower = [&](const Trial* a, const Trial* b) { return seconds(a) > seconds(b); };
    for (;;) {
      std::stable_sort(trials.begin(), trials.end(), slower);
      std::optional<Champion> champion = champion_of(task);
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
      if (!log_.interrupted())
        seen = champion ? contest_.challenge(task.measure_task(), steps, *champion)
                        : contest_.alone(task.measure_task(), lucky[0]->steps, seconds(lucky[0]));
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

  bool check(TaskTuning& task, Trial& trial) { return has_right_answers(task, trial, measurer_, log_); }

  /// The fastest, what the records rank first, the champion and the default schedule.
  Trials finalists(const TaskTuning& task, std::size_t count) const {
    std::vector<const Record*> list = finalists_of(task.placed(log_.records(), placement_of(task)), count, kNear);
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

  /// Compares trials, remembers the figures, and crowns the fastest whose answers are known to be right.
  Status compare(TaskTuning& task, Trials& trials) {
    std::vector<std::string> steps;
    for (const Trial& trial : trials) steps.push_back(trial.steps);
    const std::vector<Outcome> seen = contest_.compare(task.measure_task(), steps, champion_of(task));
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials[i].measured.outcome = seen[i];
      if (seen[i].code == OutcomeCode::device_lost) continue;
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
  Contest contest_;
  Control control_;
  std::map<const TaskTuning*, Champion> champions_;
  std::map<const TaskTuning*, double> paces_;  ///< the last of each task, of the only device
};

Judge::Judge(Measurer& measurer, RunLog& log, const TuneOptions& options)
    : impl_(std::make_unique<Impl>(measurer, log, options)) {}
Judge::~Judge() = default;
Result<std::vector<Trial>> Judge::measure_and_judge(TaskTuning& task, std::vector<Trial>& trials) {
  return impl_->measure_and_judge(task, trials);
}
Status Judge::verify_best(TaskTuning& task) { return impl_->verify_best(task); }
Status Judge::confirm(TaskTuning& task, std::size_t count) { return impl_->confirm(task, count); }
Status Judge::rank_over_placements(TaskTuning& task) { return impl_->rank_over_placements(task); }
void Judge::watch_control(std::vector<TaskTuning>& tasks, std::int64_t trials) { impl_->watch_control(tasks, trials); }
double Judge::slowdown() const { return impl_->slowdown(); }

}  // namespace whet
