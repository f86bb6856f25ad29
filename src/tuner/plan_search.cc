#include "tuner/plan_search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "base/arithmetic.h"
#include "base/version.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "records/record_line.h"
#include "tuner/compare_models.h"

namespace whet {
namespace {

/// Rounds of measuring and choosing, at most: each one measures something new.
constexpr int kRounds = 200;
/// Where this many kernels of one kind on the same forms were measured, no other is hoped to be faster, relative to its usual kernel,
/// than the fastest of them by more than a margin.
constexpr int kEnough = 3;
constexpr double kMargin = 0.95;
/// Covers that take more of their usual kernels' time after a few trials are given up.
constexpr double kMostRatioOfCover = 1.15;
/// Kernels that are measured at a time where a choice over hopes did not end.
constexpr std::size_t kPromising = 4;
/// Tasks that are measured at a time, so that the most promising have all their trials before the others have any.
constexpr std::size_t kAtATime = 6;
/// More trials for the kernels of the best plans go on where they have made the best by this much shorter.
constexpr double kShorter = 0.998;
/// Plans that each way of laying the excess proposes, beside the first way.
constexpr int kPlansOfAWay = 2;

/// What exporters write into a graph's name is rarely the model's.
std::string name_of(const FusedGraph& fused, const std::string& wanted) {
  return wanted.empty() ? fused.graph.name : wanted;
}

class Search {
 public:
  Search(const FusedGraph& fused, const Target& target, Measurer& measurer, RecordFile& file, Device& device,
         const PlanSearchOptions& options)
      : fused_(fused),
        target_(target),
        measurer_(measurer),
        file_(file),
        device_(device),
        options_(options),
        start_(std::chrono::steady_clock::now()) {}

  ~Search() { (void)device_.time_models({}, {}); }  // frees the models' memory

  Result<PlanSearch> run() {
    result_.has_excess = options_.knows_excess;
    WHET_TRY(alternatives_, find_alternatives(fused_, target_, options_.alternatives));
    result_.alternatives = alternatives_.all.size() - alternatives_.usual;
    lay_excess();
    for (std::size_t t = 0; t < alternatives_.tasks.size(); ++t)
      result_.tasks += alternatives_.tasks[t].weight > 0 && !is_usual_task(static_cast<int>(t));
    WHET_RETURN_IF_ERROR(measure_what_is_hoped());
    WHET_RETURN_IF_ERROR(choose());
    WHET_RETURN_IF_ERROR(tune_chosen());
    WHET_RETURN_IF_ERROR(decide());
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  bool interrupted() const { return options_.tuning.interrupted && options_.tuning.interrupted(); }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  double minutes_left() const { return options_.tuning.minutes - elapsed() / 60; }
  std::int64_t trials_left() const { return options_.tuning.trials - result_.trials; }
  bool used_up() const {
    return interrupted() || (options_.tuning.minutes > 0 && minutes_left() <= 0) ||
           (options_.tuning.trials > 0 && trials_left() <= 0);
  }

  bool is_usual_task(int task) const {
    return std::any_of(alternatives_.all.begin(),
                       alternatives_.all.begin() + static_cast<std::ptrdiff_t>(alternatives_.usual),
                       [&](const Alternative& a) { return a.task == task; });
  }

  /// Nobody knows which kernels the excess belongs to. There are four ways to lay it: on bytes, on kernels, half on each, on none.
  /// The first way decides what is measured. Each way proposes plans to the network.
  void lay_excess() {
    double bytes = 0, kernels = 0;
    for (std::size_t a = 0; a < alternatives_.usual; ++a) {
      const int task = alternatives_.all[a].task;
      if (task < 0) continue;
      bytes += static_cast<double>(activation_bytes(alternatives_.tasks[static_cast<std::size_t>(task)]));
      ++kernels;
    }
    if (options_.excess_seconds <= 0 || kernels == 0) return ways_.push_back({});
    const double a_byte = options_.excess_seconds / bytes, a_kernel = options_.excess_seconds / kernels;
    ways_ = {{{a_byte, 0}, {}}, {{0, a_kernel}, {}}, {{a_byte / 2, a_kernel / 2}, {}}, {{}, {}}};
  }

  std::vector<Price> prices(std::size_t way = 0) const {
    PriceOptions options = options_.prices;
    options.hope_of = hope_of_;
    options.excess = ways_[way].excess;
    options.cache = measurer_.setting().cache;
    return prices_of(alternatives_, file_.records(), target_, options);
  }

  /// What is hoped of kernels of one kind on the same forms follows from those that were measured.
  void learn_hope() {
    std::map<std::string, std::map<int, double>> ratios;  // by kind and forms, of each task
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const Alternative& alternative = alternatives_.all[a];
      const double twin = usual_seconds(alternative.group);
      if (alternative.kind == AlternativeKind::layout && prices_[a].kind == PriceKind::measured && twin > 0)
        ratios[hope_name(alternative)][alternative.task] = prices_[a].seconds / twin;
    }
    for (const auto& [forms, measured] : ratios) {
      if (std::ssize(measured) < kEnough) continue;
      double least = kInfinity;
      for (const auto& [task, ratio] : measured) least = std::min(least, ratio);
      hope_of_[forms] = kMargin * least;
    }
  }
  double usual_seconds(int group) const {
    for (std::size_t a = 0; a < alternatives_.usual; ++a)
      if (alternatives_.all[a].group == group && prices_[a].kind == PriceKind::measured) return prices_[a].seconds;
    return 0;
  }

  /// Of the kernels that it stands for.
  double usual_seconds_of(const Alternative& alternative) const {
    double sum = 0;
    for (int group : alternative.instead) sum += usual_seconds(group);
    return sum;
  }

  void renew_prices() {
    prices_ = prices();
    learn_hope();
    prices_ = prices();
  }

  Status measure_what_is_hoped() {
    for (int round = 0; round < kRounds && !used_up(); ++round) {
      renew_prices();
      const double before = elapsed();
      WHET_TRY(const NetworkPlans hoped, hoped_plans(prices_));
      const double chosen_in = elapsed() - before;
      hoped_seconds_ = hoped.bound;
      std::vector<Task> unknown = unmeasured(hoped.best.front().alternatives);
      if (unknown.empty() && !hoped.optimal) unknown = unmeasured(most_promising());
      if (unknown.empty()) {
        result_.complete = hoped.optimal;  // else nobody knows
        return ok_status();
      }
      if (options_.on_round)
        options_.on_round({hoped.best.front().seconds, hoped.usual.seconds, unknown.size(), result_.trials, elapsed()});
      WHET_RETURN_IF_ERROR(measure(std::move(unknown)));
      if (!hoped.optimal) WHET_RETURN_IF_ERROR(measure_most_promising(chosen_in));
    }
    return ok_status();
  }

  /// The best plans by bounds; without time for a choice the usual one, of which nothing is proven.
  Result<NetworkPlans> hoped_plans(const std::vector<Price>& prices) const {
    if (options_.seconds_a_choice > 0)
      return best_plans(fused_, alternatives_, prices,
                        {.forbidden = failed(), .bounds = true, .seconds_limit = options_.seconds_a_choice});
    NetworkPlans plans;
    for (std::size_t a = 0; a < alternatives_.usual; ++a) {
      plans.usual.alternatives.push_back(static_cast<int>(a));
      plans.usual.seconds += prices[a].seconds;
    }
    plans.best = {plans.usual};
    return plans;
  }

  /// For some seconds, without a choice.
  Status measure_most_promising(double seconds) {
    const double until = elapsed() + seconds;
    while (!used_up() && elapsed() < until) {
      renew_prices();
      std::vector<Task> tasks = unmeasured(most_promising());
      if (tasks.empty()) break;
      WHET_RETURN_IF_ERROR(measure(std::move(tasks)));
    }
    return ok_status();
  }

  /// Kernels of which nobody knows the time and that are hoped to save most of their usual ones' time.
  std::vector<int> most_promising() const {
    std::vector<std::pair<double, int>> gains;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const Alternative& alternative = alternatives_.all[a];
      if (alternative.task < 0 || unmeasured({static_cast<int>(a)}).empty()) continue;
      const double usual = usual_seconds_of(alternative);
      if (usual > prices_[a].bound) gains.emplace_back(prices_[a].bound - usual, static_cast<int>(a));
    }
    std::sort(gains.begin(), gains.end());
    std::vector<int> numbers;
    for (std::size_t i = 0; i < std::min(gains.size(), kPromising); ++i) numbers.push_back(gains[i].second);
    return numbers;
  }

  /// The tasks of alternatives that have no time yet. Weights are how often these run them.
  std::vector<Task> unmeasured(const std::vector<int>& alternatives) const {
    std::map<int, int> counts;
    for (int a : alternatives) {
      const int task = alternatives_.all[static_cast<std::size_t>(a)].task;
      const bool unknown = prices_[static_cast<std::size_t>(a)].kind == PriceKind::estimated;
      if (unknown && !failed_.contains(id_of(alternatives_.tasks[static_cast<std::size_t>(task)]))) ++counts[task];
    }
    return weighted(counts);
  }

  /// Some alternative of several groups is this task.
  bool is_cover(const Task& task) const {
    return std::any_of(alternatives_.all.begin(), alternatives_.all.end(), [&](const Alternative& a) {
      return a.kind == AlternativeKind::cover && alternatives_.tasks[static_cast<std::size_t>(a.task)].key == task.key;
    });
  }

  /// The most promising first. Covers that come near the usual kernels get more trials: of their schedules less is known.
  Status measure(std::vector<Task> tasks) {
    std::map<std::string, double> gains = hoped_gains();
    const auto gain = [&](const Task& task) { return task.weight * gains[id_of(task)]; };
    std::ranges::stable_sort(tasks, std::ranges::greater(), gain);
    for (std::size_t first = 0; first < tasks.size() && !used_up(); first += kAtATime) {
      const std::size_t end = std::min(tasks.size(), first + kAtATime);
      WHET_RETURN_IF_ERROR(measure_together(
          {tasks.begin() + static_cast<std::ptrdiff_t>(first), tasks.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    return ok_status();
  }

  Status measure_together(std::vector<Task> tasks) {
    WHET_RETURN_IF_ERROR(measure_so_often(tasks, options_.trials_a_task));
    std::erase_if(tasks, [&](const Task& task) { return !is_cover(task); });
    if (tasks.empty() || used_up()) return ok_status();
    prices_ = prices();
    std::erase_if(tasks, [&](const Task& task) { return ratio_of_cover(task) > kMostRatioOfCover; });
    if (tasks.empty()) return ok_status();
    return measure_so_often(tasks, options_.trials_a_cover - options_.trials_a_task);
  }

  /// What one kernel of each task is hoped to save at the most; 0 where it may save nothing.
  std::map<std::string, double> hoped_gains() const {
    std::map<std::string, double> gains;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const Alternative& alternative = alternatives_.all[a];
      if (alternative.task < 0) continue;
      double& gain = gains[id_of(alternatives_.tasks[static_cast<std::size_t>(alternative.task)])];
      gain = std::max(gain, usual_seconds_of(alternative) - prices_[a].bound);
    }
    return gains;
  }

  /// Of what the usual kernels take that it stands for; the least where it stands for several.
  double ratio_of_cover(const Task& task) const {
    double least = kInfinity;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const Alternative& cover = alternatives_.all[a];
      if (cover.kind != AlternativeKind::cover || prices_[a].kind != PriceKind::measured ||
          id_of(alternatives_.tasks[static_cast<std::size_t>(cover.task)]) != id_of(task))
        continue;
      const double usual = usual_seconds_of(cover);
      if (usual > 0) least = std::min(least, prices_[a].seconds / usual);
    }
    return least;
  }

  Status measure_so_often(const std::vector<Task>& tasks, int trials_a_task) {
    TuneOptions tuning = options_.tuning;
    tuning.ids.clear();
    tuning.first_round = tuning.round = trials_a_task;
    const auto wanted = static_cast<std::int64_t>(tasks.size()) * trials_a_task;
    tuning.trials = options_.tuning.trials > 0 ? std::min(wanted, trials_left()) : wanted;
    tuning.minutes = options_.tuning.minutes > 0 ? std::max(minutes_left(), 0.001) : 0;
    WHET_TRY(const TuneProgress progress, tune(tasks, target_, measurer_, file_, tuning, [](const TuneProgress&) {}));
    result_.trials += progress.trials;
    for (std::size_t t = 0; t < tasks.size(); ++t)
      if (progress.tasks[t].measured > 0) measured_.insert(id_of(tasks[t]));
    result_.measured = measured_.size();
    for (std::size_t t = 0; t < tasks.size(); ++t)
      if (progress.tasks[t].trials > 0 && !(progress.tasks[t].best_seconds < kInfinity))
        failed_.insert(id_of(tasks[t]));
    // Nothing was tried although there was time: what has no time has no candidate.
    if (progress.trials == 0 && !used_up())
      for (std::size_t t = 0; t < tasks.size(); ++t)
        if (!(progress.tasks[t].best_seconds < kInfinity)) failed_.insert(id_of(tasks[t]));
    return ok_status();
  }

  /// A part of a larger tensor may fail where the whole does not.
  static std::string id_of(const Task& task) { return task.key + to_string(task.within); }

  /// Alternatives none of whose candidates ran.
  std::vector<int> failed() const {
    std::vector<int> numbers;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
      const int task = alternatives_.all[a].task;
      if (task >= 0 && failed_.contains(id_of(alternatives_.tasks[static_cast<std::size_t>(task)])))
        numbers.push_back(static_cast<int>(a));
    }
    return numbers;
  }

  /// Among what was measured.
  Status choose() {
    prices_ = prices();
    WHET_TRY(result_.plans, best_plans(fused_, alternatives_, prices_, only_measured()));
    return ok_status();
  }

  /// The usual kernels had far more trials than those of other plans: what time is left is for the kernels of the best plans, as
  /// long as these become shorter by it.
  Status tune_chosen() {
    for (double before = kInfinity; !used_up() && result_.plans.best.front().seconds < kShorter * before;) {
      before = result_.plans.best.front().seconds;
      std::vector<Task> tasks = other_tasks(result_.plans.best);
      if (tasks.empty()) break;
      WHET_RETURN_IF_ERROR(measure_so_often(tasks, options_.trials_a_cover));
      WHET_RETURN_IF_ERROR(choose());
    }
    return ok_status();
  }

  /// The tasks of plans that the network does not have as it is. Weights are how often the plans run them.
  std::vector<Task> other_tasks(const std::vector<NetworkPlan>& plans) const {
    std::map<int, int> counts;
    for (const NetworkPlan& plan : plans)
      for (int a : plan.alternatives) {
        const Alternative& alternative = alternatives_.all[static_cast<std::size_t>(a)];
        if (alternative.kind != AlternativeKind::usual && alternative.task >= 0) ++counts[alternative.task];
      }
    return weighted(counts);
  }
  std::vector<Task> weighted(const std::map<int, int>& counts) const {
    std::vector<Task> tasks;
    for (const auto& [task, count] : counts) {
      tasks.push_back(alternatives_.tasks[static_cast<std::size_t>(task)]);
      tasks.back().weight = count;
    }
    return tasks;
  }

  /// What nobody has measured is no part of a plan that is to run.
  PlanOptions only_measured() const {
    PlanOptions options{.plans = options_.tried_in_network};
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
      if (prices_[a].kind == PriceKind::estimated) options.forbidden.push_back(static_cast<int>(a));
    return options;
  }

  Status decide() {
    if (interrupted()) return leave_as_it_is();
    WHET_TRY(std::vector<Proposal> others, proposals());
    add_earlier_plan(others);
    std::optional<std::size_t> winner;
    if (!others.empty() && !interrupted()) {
      WHET_TRY(winner, try_in_network(others));
    }
    if (interrupted()) return leave_as_it_is();
    if (winner) result_.tried[*winner].adopted = true;
    if (!winner && result_.noisy && earlier_line() != nullptr) return keep_earlier_line();
    result_.chosen = line_of(winner ? others[*winner] : Proposal{result_.plans.usual, 0});
    result_.bound_seconds = std::min(hoped_seconds_, result_.plans.best.front().seconds);
    if (winner) {
      result_.chosen.network_seconds = result_.tried[*winner].network_seconds;
      result_.chosen.usual_network_seconds = result_.tried[*winner].usual_network_seconds;
    }
    return file_.append_plan(result_.chosen);
  }

  /// A plan that is shorter than the usual one by one way of laying the excess.
  struct Proposal {
    NetworkPlan plan;
    std::size_t way;
  };

  /// The best plan of each way, then the next best ones, as many as are tried in the network.
  Result<std::vector<Proposal>> proposals() {
    ways_.front().plans = result_.plans;
    PlanOptions options = only_measured();
    options.plans = kPlansOfAWay;
    if (options_.seconds_a_choice > 0) options.seconds_limit = options_.seconds_a_choice;
    for (std::size_t way = 1; way < ways_.size(); ++way) {
      WHET_TRY(ways_[way].plans, best_plans(fused_, alternatives_, prices(way), options));
    }
    std::vector<Proposal> proposed;
    const auto most = static_cast<std::size_t>(options_.tried_in_network);
    for (std::size_t rank = 0; rank < most; ++rank)
      for (std::size_t way = 0; way < ways_.size() && proposed.size() < most; ++way) {
        const NetworkPlans& plans = ways_[way].plans;
        if (rank >= plans.best.size() || plans.best[rank].seconds >= plans.usual.seconds) continue;
        const auto kernels = kernels_of(fused_, alternatives_, plans.best[rank]);
        if (!kernels.empty() && !is_among(proposed, kernels)) proposed.push_back({plans.best[rank], way});
      }
    return proposed;
  }
  bool is_among(const std::vector<Proposal>& proposed, const std::vector<PlannedKernel>& kernels) const {
    return std::ranges::any_of(
        proposed, [&](const Proposal& one) { return kernels_of(fused_, alternatives_, one.plan) == kernels; });
  }

  /// The plan that the network was faster with before is tried again, whatever the sums say now.
  void add_earlier_plan(std::vector<Proposal>& others) const {
    const Plan* earlier = earlier_line();
    if (earlier == nullptr || earlier->kernels.empty() || is_among(others, earlier->kernels)) return;
    Result<NetworkPlan> plan = find_plan(fused_, alternatives_, earlier->kernels);
    if (!plan.ok()) return;  // it has forms that are not looked at now
    others.push_back(by_best_way(*plan));
  }

  /// By the way that likes the plan best.
  Proposal by_best_way(const NetworkPlan& plan) const {
    Proposal best{plan, 0};
    double least_longer = kInfinity;  // than the usual plan
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      const std::vector<Price> by_this = prices(way);
      double seconds = 0;
      for (int a : plan.alternatives) seconds += by_this[static_cast<std::size_t>(a)].seconds;
      const double longer = seconds - ways_[way].plans.usual.seconds;
      if (longer >= least_longer) continue;
      least_longer = longer, best.way = way, best.plan.seconds = seconds;
    }
    return best;
  }

  /// After an interrupt nothing is decided: what the file has counts.
  Status leave_as_it_is() {
    result_.interrupted = true;
    return earlier_line() != nullptr ? keep_earlier_line() : ok_status();
  }
  Status keep_earlier_line() {
    result_.chosen = *earlier_line();
    return ok_status();
  }
  const Plan* earlier_line() const { return file_.records().plan_for(hash_of(fused_), to_string(target_)); }

  double hoped_seconds_by(std::size_t way) const {
    const Result<NetworkPlans> hoped = hoped_plans(prices(way));
    return hoped.ok() ? hoped->bound : kInfinity;
  }

  Plan line_of(const Proposal& proposal) const {
    const NetworkPlan& plan = proposal.plan;
    const auto& [excess, plans] = ways_[proposal.way];
    Plan line{.graph = hash_of(fused_), .name = name_of(fused_, options_.name), .target = to_string(target_)};
    line.kernels = kernels_of(fused_, alternatives_, plan);
    line.seconds = plan.seconds;
    line.usual_seconds = plans.usual.seconds;
    line.bound_seconds = std::min(proposal.way == 0 ? hoped_seconds_ : hoped_seconds_by(proposal.way), plan.seconds);
    line.excess = excess;
    if (plans.best.size() > 1) {
      const bool first = plans.best.front().alternatives == plan.alternatives;
      const NetworkPlan& runner_up = plans.best[first ? 1 : 0];
      line.runner_up = kernels_of(fused_, alternatives_, runner_up);
      line.runner_up_seconds = runner_up.seconds;
    }
    line.tried.assign(result_.tried.begin(), result_.tried.end());
    line.whet = version();
    line.at = utc_now();
    return line;
  }

  /// The plan that the network is fastest with; nothing where it is the usual one, or too close to say.
  Result<std::optional<std::size_t>> try_in_network(const std::vector<Proposal>& plans) {
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    const ScheduleSource best = best_of(&file_.records(), target_, options_.prices.schedules);
    const std::string usual = scratch.path() + "/usual.so";
    CompileOptions compiling;
    compiling.on_kernel = options_.network.on_kernel;
    compiling.made_weights = device_.info().job_candidates > 1;  // weights stay here where the device is elsewhere
    WHET_TRY(const CompileReport report, compile_model(fused_, best, target_, usual, compiling));
    std::optional<std::size_t> winner;
    for (std::size_t p = 0; p < plans.size() && !interrupted(); ++p) {
      const NetworkPlan& plan = plans[p].plan;
      WHET_TRY(const FusedGraph planned, assemble(fused_, alternatives_, plan.alternatives));
      const std::string library = scratch.path() + "/" + std::to_string(p) + ".so";
      WHET_TRY(const CompileReport other, compile_model(planned, best, target_, library, compiling));
      PlanSearch::Tried tried;
      tried.sum_seconds = plan.seconds, tried.usual_sum_seconds = ways_[plans[p].way].plans.usual.seconds;
      tried.kernels = std::ssize(kernels_of(fused_, alternatives_, plan));
      const Result<ModelVerdict> seen =
          compare_in_new_processes(device_, {usual}, {library}, run_of_network(), kFasterPlan);
      if (!seen.ok()) return interrupted() ? Result<std::optional<std::size_t>>(std::nullopt) : seen.error();
      add_verdict(*seen, tried);
      result_.tried.push_back(tried);
      if (seen->faster && (!winner || ratio_of(tried) < ratio_of(result_.tried[*winner]))) winner = p;
    }
    return winner;
  }

  void add_verdict(const ModelVerdict& seen, PlanSearch::Tried& tried) {
    tried.network_seconds = seen.middle.other, tried.usual_network_seconds = seen.middle.usual;
    tried.comparisons = seen.comparisons, tried.slower = seen.slower;
    tried.least_usual = seen.least_usual, tried.most_usual = seen.most_usual;
    result_.noisy |= seen.noisy();
  }

  ModelRun run_of_network() const {
    return {options_.network.open, options_.network.inputs, options_.network.burst_seconds, options_.network.bursts};
  }
  static double ratio_of(const PlanSearch::Tried& tried) { return tried.network_seconds / tried.usual_network_seconds; }

  const FusedGraph& fused_;
  const Target& target_;
  Measurer& measurer_;
  RecordFile& file_;
  Device& device_;
  const PlanSearchOptions& options_;
  const std::chrono::steady_clock::time_point start_;
  Alternatives alternatives_;
  std::vector<Price> prices_;
  std::map<std::string, double> hope_of_;
  /// A way of laying what the network takes longer than its kernels, and the best plans by it.
  struct Way {
    NetworkExcess excess;
    NetworkPlans plans;
  };
  std::vector<Way> ways_;
  double hoped_seconds_ = kInfinity;  ///< no plan was hoped to take less when that was last asked
  std::set<std::string> failed_;      ///< tasks none of whose candidates ran
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
  Plan line{.graph = hash_of(fused), .name = name_of(fused, name), .target = to_string(target)};
  line.whet = version(), line.at = utc_now();
  WHET_RETURN_IF_ERROR(file.append_plan(line));
  return true;
}

Result<PlanSearch> search_plans(const FusedGraph& fused, const Target& target, Measurer& measurer, RecordFile& file,
                                Device& device, const PlanSearchOptions& options) {
  return Search(fused, target, measurer, file, device, options).run();
}

}  // namespace whet
