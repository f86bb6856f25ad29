#include "tuner/plan_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/version.h"
#include "records/record_line.h"
#include "tuner/plan_decision.h"
#include "tuner/plan_hopes.h"

namespace whet {
namespace {

/// Rounds of measuring and choosing, at most: each one measures something new.
constexpr int kRounds = 200;
/// Tasks that are measured at a time, so that the most promising have all their trials before the others have any.
constexpr std::size_t kAtATime = 6;
/// More trials for the kernels of the best plans go on where they have made the best by this much shorter.
constexpr double kShorter = 0.998;
/// A choice among measured plans takes this part of the time before a deadline at the most, but not less than some seconds.
constexpr double kChoicePart = 0.1, kLeastChoice = 0.1;

PriceOptions with_cache(PriceOptions prices, const Measurer& measurer) {
  prices.cache = measurer.setting().cache;
  return prices;
}

/// Measures tasks as long as trials and time are left.
class Search {
 public:
  Search(const FusedGraph& fused, const Target& target, const Alternatives& alternatives, Measurer& measurer,
         RecordFile& file, const PlanSearchOptions& options, std::chrono::steady_clock::time_point start)
      : fused_(fused),
        target_(target),
        alternatives_(alternatives),
        measurer_(measurer),
        file_(file),
        options_(options),
        start_(start),
        ways_(ways_of_laying(options.excess_seconds, alternatives)),
        hopes_(fused, target, alternatives, file.records(), with_cache(options.prices, measurer)) {}

  Result<PlanSearch> run(Device& device) {
    PlanDecision decision(fused_, target_, alternatives_, hopes_, ways_, file_, device, options_);
    result_.has_excess = options_.knows_excess;
    result_.alternatives = alternatives_.all.size() - alternatives_.usual;
    for (std::size_t t = 0; t < alternatives_.tasks.size(); ++t)
      result_.tasks += alternatives_.tasks[t].weight > 0 && !is_usual_task(static_cast<int>(t));
    WHET_RETURN_IF_ERROR(measure_known_chains());
    WHET_RETURN_IF_ERROR(measure_what_is_hoped());
    WHET_RETURN_IF_ERROR(choose());
    WHET_RETURN_IF_ERROR(tune_chosen());
    WHET_RETURN_IF_ERROR(decision.decide(hoped_seconds_, result_));
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  bool interrupted() const { return options_.tuning.interrupted && options_.tuning.interrupted(); }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  double seconds_left(double deadline) const {
    return deadline - (options_.tuning.clock ? options_.tuning.clock() : seconds_now());
  }
  std::int64_t trials_left() const { return options_.tuning.trials - result_.trials; }
  bool used_up() const {
    return interrupted() || seconds_left(options_.tuning.deadline) <= 0 ||
           (options_.tuning.trials > 0 && trials_left() <= 0);
  }

  bool is_usual_task(int task) const {
    return std::any_of(alternatives_.all.begin(),
                       alternatives_.all.begin() + static_cast<std::ptrdiff_t>(alternatives_.usual),
                       [&](const Alternative& a) { return a.task == task; });
  }

  /// In the order of what they saved in other networks.
  Status measure_known_chains() {
    if (!options_.chain_gain) return ok_status();
    hopes_.read(ways_.front());
    return measure(hopes_.known_chains(options_.chain_gain));
  }

  Status measure_what_is_hoped() {
    for (int round = 0; round < kRounds && !used_up(); ++round) {
      hopes_.learn(ways_.front());
      const double before = elapsed();
      WHET_TRY(const NetworkPlans hoped, hopes_.best(hopes_.prices(), options_.seconds_a_choice));
      const double chosen_in = elapsed() - before;
      hoped_seconds_ = hoped.bound;
      std::vector<Task> unknown = hopes_.unmeasured(hoped.best.front().alternatives);
      if (unknown.empty() && !hoped.optimal) unknown = hopes_.most_promising();
      if (unknown.empty()) {
        result_.complete = hoped.optimal;  // else nobody knows
        return ok_status();
      }
      if (options_.on_round)
        options_.on_round({hoped.best.front().seconds, hoped.usual.seconds, unknown.size(), result_.trials, elapsed()});
      WHET_RETURN_IF_ERROR(measure(unknown));
      if (!hoped.optimal) WHET_RETURN_IF_ERROR(measure_most_promising(chosen_in));
    }
    return ok_status();
  }

  /// For some seconds, without a choice.
  Status measure_most_promising(double seconds) {
    const double until = elapsed() + seconds;
    while (!used_up() && elapsed() < until) {
      hopes_.learn(ways_.front());
      const std::vector<Task> tasks = hopes_.most_promising();
      if (tasks.empty()) break;
      WHET_RETURN_IF_ERROR(measure(tasks));
    }
    return ok_status();
  }

  Status measure(const std::vector<Task>& tasks) {
    for (std::size_t first = 0; first < tasks.size() && !used_up(); first += kAtATime) {
      const std::size_t end = std::min(tasks.size(), first + kAtATime);
      WHET_RETURN_IF_ERROR(measure_together(
          {tasks.begin() + static_cast<std::ptrdiff_t>(first), tasks.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    return ok_status();
  }

  /// Covers that come near the usual kernels get more trials: of their schedules less is known.
  Status measure_together(std::vector<Task> tasks) {
    WHET_RETURN_IF_ERROR(measure_so_often(tasks, options_.trials_a_task));
    std::erase_if(tasks, [&](const Task& task) { return !hopes_.is_cover(task); });
    if (tasks.empty() || used_up()) return ok_status();
    hopes_.read(ways_.front());
    std::erase_if(tasks, [&](const Task& task) { return !hopes_.is_near_cover(task); });
    if (tasks.empty()) return ok_status();
    return measure_so_often(tasks, options_.trials_a_cover - options_.trials_a_task);
  }

  Status measure_so_often(const std::vector<Task>& tasks, int trials_a_task) {
    TuneOptions tuning = options_.tuning;
    tuning.ids.clear();
    tuning.first_round = tuning.round = trials_a_task;
    const auto wanted = static_cast<std::int64_t>(tasks.size()) * trials_a_task;
    tuning.trials = options_.tuning.trials > 0 ? std::min(wanted, trials_left()) : wanted;
    WHET_TRY(const TuneProgress progress, tune(tasks, target_, measurer_, file_, tuning, [](const TuneProgress&) {}));
    result_.trials += progress.trials;
    // Nothing was tried although there was time: what has no time has no candidate.
    const bool had_time = progress.trials == 0 && !used_up();
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const TaskProgress& task = progress.tasks[t];
      if (task.measured > 0) measured_.insert(plan_task_id(tasks[t]));
      if ((task.trials > 0 || had_time) && !(task.best_seconds < kInfinity)) hopes_.give_up(tasks[t]);
    }
    result_.measured = measured_.size();
    return ok_status();
  }

  /// Among what was measured.
  Status choose() {
    hopes_.read(ways_.front());
    PlanOptions options{.plans = options_.tried_in_network, .forbidden = hopes_.not_measured()};
    if (const double left = seconds_left(options_.network.deadline); std::isfinite(left))
      options.seconds_limit = std::clamp(kChoicePart * left, kLeastChoice, options.seconds_limit);
    WHET_TRY(result_.plans, best_plans(fused_, alternatives_, hopes_.prices(), options));
    return ok_status();
  }

  /// The usual kernels had far more trials than those of other plans: what time is left is for the kernels of the best plans, as
  /// long as these become shorter by it.
  Status tune_chosen() {
    for (double before = kInfinity; !used_up() && result_.plans.best.front().seconds < kShorter * before;) {
      before = result_.plans.best.front().seconds;
      const std::vector<Task> tasks = hopes_.other_tasks(result_.plans.best);
      if (tasks.empty()) break;
      WHET_RETURN_IF_ERROR(measure_so_often(tasks, options_.trials_a_cover));
      WHET_RETURN_IF_ERROR(choose());
    }
    return ok_status();
  }

  const FusedGraph& fused_;
  const Target& target_;
  const Alternatives& alternatives_;
  Measurer& measurer_;
  RecordFile& file_;
  const PlanSearchOptions& options_;
  const std::chrono::steady_clock::time_point start_;
  const std::vector<NetworkExcess> ways_;
  PlanHopes hopes_;
  double hoped_seconds_ = kInfinity;  ///< no plan was hoped to take less when that was last asked
  std::set<std::string> measured_;    ///< tasks that were
  PlanSearch result_;
};

}  // namespace

Result<bool> end_plan(const FusedGraph& fused, const Target& target, const AlternativeOptions& asked,
                      const SpaceOptions& schedules, RecordFile& file, const std::string& name) {
  WHET_TRY(const PlannedNetwork network, planned(fused, file.records(), target, schedules));
  if (network.kernels.empty()) return false;
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, asked));
  if (find_plan(fused, alternatives, network.kernels).ok()) return false;
  Plan line{.graph = hash_of(fused), .name = plan_name(fused, name), .target = to_string(target)};
  line.whet = version(), line.at = utc_now();
  WHET_RETURN_IF_ERROR(file.append_plan(line));
  return true;
}

Result<PlanSearch> search_plans(const FusedGraph& fused, const Target& target, Measurer& measurer, RecordFile& file,
                                Device& device, const PlanSearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, options.alternatives));
  return Search(fused, target, alternatives, measurer, file, options, start).run(device);
}

}  // namespace whet
