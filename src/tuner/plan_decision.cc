#include "tuner/plan_decision.h"

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/version.h"
#include "compiler/scratch.h"
#include "plan/tried.h"
#include "records/record_line.h"
#include "tuner/compare_models.h"

namespace whet {
namespace {

/// Plans that each way of laying the excess proposes, beside the first way.
constexpr int kPlansOfAWay = 2;

double ratio_of(const PlanSearch::Tried& tried) { return tried.network_seconds / tried.usual_network_seconds; }

void add_verdict(const ModelVerdict& seen, PlanSearch::Tried& tried) {
  tried.network_seconds = seen.middle.other, tried.usual_network_seconds = seen.middle.usual;
  tried.comparisons = seen.comparisons, tried.slower = seen.slower;
  tried.least_usual = seen.least_usual, tried.most_usual = seen.most_usual;
}

}  // namespace

std::vector<NetworkExcess> ways_of_laying(double excess_seconds, const Alternatives& alternatives) {
  double bytes = 0, kernels = 0;
  for (std::size_t a = 0; a < alternatives.usual; ++a) {
    const int task = alternatives.all[a].task;
    if (task < 0) continue;
    bytes += static_cast<double>(activation_bytes(alternatives.tasks[static_cast<std::size_t>(task)]));
    ++kernels;
  }
  if (excess_seconds <= 0 || kernels == 0) return {{}};
  const double a_byte = excess_seconds / bytes, a_kernel = excess_seconds / kernels;
  return {{a_byte, 0}, {0, a_kernel}, {a_byte / 2, a_kernel / 2}, {}};
}

/// What exporters write into a graph's name is rarely the model's.
std::string plan_name(const FusedGraph& fused, const std::string& wanted) {
  return wanted.empty() ? fused.graph.name : wanted;
}

PlanDecision::PlanDecision(const FusedGraph& fused, const Target& target, const Alternatives& alternatives,
                           const PlanHopes& hopes, const std::vector<NetworkExcess>& ways, RecordFile& file,
                           Device& device, const PlanSearchOptions& options)
    : fused_(fused),
      target_(target),
      alternatives_(alternatives),
      hopes_(hopes),
      file_(file),
      device_(device),
      options_(options) {
  for (const NetworkExcess& excess : ways) ways_.push_back({excess, {}});
}

double PlanDecision::now() const { return options_.network.clock ? options_.network.clock() : seconds_now(); }

/// Those of each comparison of a plan, behind the compiles of some plans; none where no time is left.
Bursts PlanDecision::bursts_for(const NetworkSize& size, std::size_t plans) const {
  const NetworkOptions& network = options_.network;
  const Bursts usual{network.bursts, network.burst_seconds};
  const double left = network.deadline - now() - static_cast<double>(plans) * compile_seconds(size);
  return std::isfinite(left) ? bursts_within(left, size, usual, 1, kShortestBurst, kPlanComparisons) : usual;
}

PlanDecision::~PlanDecision() { (void)device_.time_models({}, {}); }  // frees the models' memory

Status PlanDecision::decide(double hoped_seconds, PlanSearch& search) {
  ways_.front().plans = search.plans;
  std::vector<Proposal> others;
  std::optional<std::size_t> winner;
  search.interrupted = interrupted();
  if (!search.interrupted) {
    WHET_TRY(others, proposals());
    add_earlier_plan(others);
    if (!others.empty() && !interrupted()) {
      WHET_TRY(winner, try_in_network(others, search));
    }
    search.interrupted = interrupted();
  }
  if (search.interrupted || search.out_of_time) return keep_earlier_line(search);  // nothing is decided
  if (winner) search.tried[*winner].adopted = true;
  if (!winner && search.noisy && earlier_line() != nullptr) return keep_earlier_line(search);
  search.chosen = line_of(winner ? others[*winner] : Proposal{search.plans.usual, 0}, hoped_seconds, search);
  search.bound_seconds = std::min(hoped_seconds, search.plans.best.front().seconds);
  if (winner) {
    search.chosen.network_seconds = search.tried[*winner].network_seconds;
    search.chosen.usual_network_seconds = search.tried[*winner].usual_network_seconds;
  }
  return file_.append_plan(search.chosen);
}

Status PlanDecision::keep_earlier_line(PlanSearch& search) const {
  if (const Plan* line = earlier_line()) search.chosen = *line;
  return ok_status();
}

/// The best plan of each way, then the next best ones, as many as are tried in the network.
Result<std::vector<PlanDecision::Proposal>> PlanDecision::proposals() {
  PlanOptions options{.plans = kPlansOfAWay, .forbidden = hopes_.not_measured()};
  if (options_.seconds_a_choice > 0) options.seconds_limit = options_.seconds_a_choice;
  for (std::size_t way = 1; way < ways_.size(); ++way) {
    WHET_TRY(ways_[way].plans, best_plans(fused_, alternatives_, hopes_.prices(ways_[way].excess), options));
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

bool PlanDecision::is_among(const std::vector<Proposal>& proposed, const std::vector<PlannedKernel>& kernels) const {
  return std::ranges::any_of(
      proposed, [&](const Proposal& one) { return kernels_of(fused_, alternatives_, one.plan) == kernels; });
}

/// The plan that the network was faster with before is tried again, whatever the sums say now.
void PlanDecision::add_earlier_plan(std::vector<Proposal>& others) const {
  const Plan* earlier = earlier_line();
  if (earlier == nullptr || earlier->kernels.empty() || is_among(others, earlier->kernels)) return;
  Result<NetworkPlan> plan = find_plan(fused_, alternatives_, earlier->kernels);
  if (!plan.ok()) return;  // it has forms that are not looked at now
  others.push_back(by_best_way(*plan));
}

/// By the way by which the plan is shortest, relative to the usual one.
PlanDecision::Proposal PlanDecision::by_best_way(const NetworkPlan& plan) const {
  Proposal best{plan, 0};
  double least_longer = kInfinity;  // than the usual plan
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const std::vector<Price> prices = hopes_.prices(ways_[way].excess);
    double seconds = 0;
    for (int a : plan.alternatives) seconds += prices[static_cast<std::size_t>(a)].seconds;
    const double longer = seconds - ways_[way].plans.usual.seconds;
    if (longer >= least_longer) continue;
    least_longer = longer, best.way = way, best.plan.seconds = seconds;
  }
  return best;
}

Plan PlanDecision::line_of(const Proposal& proposal, double hoped_seconds, const PlanSearch& search) const {
  const NetworkPlan& plan = proposal.plan;
  const auto& [excess, plans] = ways_[proposal.way];
  Plan line{.graph = hash_of(fused_), .name = plan_name(fused_, options_.name), .target = to_string(target_)};
  line.kernels = kernels_of(fused_, alternatives_, plan);
  line.seconds = plan.seconds;
  line.usual_seconds = plans.usual.seconds;
  if (proposal.way > 0) {
    const Result<NetworkPlans> hoped = hopes_.best(hopes_.prices(excess), options_.seconds_a_choice);
    hoped_seconds = hoped.ok() ? hoped->bound : kInfinity;
  }
  line.bound_seconds = std::min(hoped_seconds, plan.seconds);
  line.excess = excess;
  if (plans.best.size() > 1) {
    const bool first = plans.best.front().alternatives == plan.alternatives;
    const NetworkPlan& runner_up = plans.best[first ? 1 : 0];
    line.runner_up = kernels_of(fused_, alternatives_, runner_up);
    line.runner_up_seconds = runner_up.seconds;
  }
  line.tried.assign(search.tried.begin(), search.tried.end());
  line.whet = version();
  line.at = utc_now();
  return line;
}

/// The plan that the network is fastest with; nothing where it is the usual one, or too close to say.
Result<std::optional<std::size_t>> PlanDecision::try_in_network(const std::vector<Proposal>& plans,
                                                                PlanSearch& search) {
  WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
  const ScheduleSource best = compiled_schedules(options_.network, &file_.records(), target_);
  const std::string usual = scratch.path() + "/usual.so";
  NetworkSize size = options_.network.size;
  search.out_of_time = bursts_for(size, 2).count == 0;  // the usual plan is compiled, and one more
  if (search.out_of_time) return std::optional<std::size_t>();
  CompileOptions compiling;
  compiling.on_kernel = options_.network.on_kernel;
  compiling.made_weights = device_.info().job_candidates > 1;  // weights stay here where the device is elsewhere
  const double begin = now();
  WHET_TRY(const CompileReport usual_report, compile_model(fused_, best, target_, usual, compiling));
  size.compile = now() - begin;
  const NetworkOptions& network = options_.network;
  std::optional<std::size_t> winner;
  for (std::size_t p = 0; p < plans.size() && !interrupted(); ++p) {
    const Bursts bursts = bursts_for(size, 1);
    search.out_of_time = bursts.count == 0 && search.tried.empty();
    if (bursts.count == 0) break;
    const ModelRun run{network.open, network.inputs, bursts.seconds, bursts.count};
    const NetworkPlan& plan = plans[p].plan;
    WHET_TRY(const FusedGraph planned, assemble(fused_, alternatives_, plan.alternatives));
    const std::string library = scratch.path() + "/" + std::to_string(p) + ".so";
    WHET_TRY(const CompileReport report, compile_model(planned, best, target_, library, compiling));
    PlanSearch::Tried tried;
    tried.weights_bytes = report.weights_bytes, tried.usual_weights_bytes = usual_report.weights_bytes;
    tried.sum_seconds = plan.seconds, tried.usual_sum_seconds = ways_[plans[p].way].plans.usual.seconds;
    tried.kernels = std::ssize(kernels_of(fused_, alternatives_, plan));
    const Result<ModelVerdict> seen = compare_in_new_processes(
        device_, {usual}, {library}, run, needed_ratio(tried.weights_bytes, tried.usual_weights_bytes, kFasterPlan));
    if (!seen.ok()) return interrupted() ? Result<std::optional<std::size_t>>(std::nullopt) : seen.error();
    add_verdict(*seen, tried);
    search.noisy |= seen->noisy();
    search.tried.push_back(tried);
    if (seen->faster && (!winner || ratio_of(tried) < ratio_of(search.tried[*winner]))) winner = p;
  }
  return winner;
}

}  // namespace whet
