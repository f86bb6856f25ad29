#include "tuner/plan_hopes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "alternatives/chain.h"
#include "base/arithmetic.h"

namespace whet {
namespace {

/// Where this many kernels of one kind on the same forms were measured, no other is hoped to be faster, relative to its usual kernel,
/// than the fastest of them by more than a margin.
constexpr int kEnough = 3;
constexpr double kMargin = 0.95;
/// Covers that take more of their usual kernels' time after a few trials are given up.
constexpr double kMostRatioOfCover = 1.15;
/// Kernels that are measured at a time where a choice over hopes did not end.
constexpr std::size_t kPromising = 4;

}  // namespace

std::string plan_task_id(const Task& task) { return task.key + to_string(task.within); }

std::vector<Price> PlanHopes::prices(const NetworkExcess& excess) const {
  PriceOptions options = options_;
  options.excess = excess;
  return prices_of(alternatives_, records_, target_, options);
}

void PlanHopes::learn(const NetworkExcess& excess) {
  read(excess);
  std::map<std::string, std::map<int, double>> ratios;  // by kind and forms, of each task
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
    const Alternative& alternative = alternatives_.all[a];
    const double twin = usual_seconds(alternative.group);
    const bool is_alike = alternative.kind == AlternativeKind::layout || alternative.kind == AlternativeKind::lowered;
    if (is_alike && prices_[a].kind == PriceKind::measured && twin > 0)
      ratios[hope_name(alternative)][alternative.task] = prices_[a].seconds / twin;
  }
  for (const auto& [forms, measured] : ratios) {
    if (std::ssize(measured) < kEnough) continue;
    double least = kInfinity;
    for (const auto& [task, ratio] : measured) least = std::min(least, ratio);
    options_.hope_of[forms] = kMargin * least;
  }
  read(excess);
}

double PlanHopes::usual_seconds(int group) const {
  for (std::size_t a = 0; a < alternatives_.usual; ++a)
    if (alternatives_.all[a].group == group && prices_[a].kind == PriceKind::measured) return prices_[a].seconds;
  return 0;
}

/// Of the kernels that it stands for.
double PlanHopes::usual_seconds_of(const Alternative& alternative) const {
  double sum = 0;
  for (int group : alternative.instead) sum += usual_seconds(group);
  return sum;
}

Result<NetworkPlans> PlanHopes::best(const std::vector<Price>& prices, double seconds_a_choice) const {
  if (seconds_a_choice > 0) {
    PlanOptions options{.bounds = true, .seconds_limit = seconds_a_choice};
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
      if (alternatives_.all[a].task >= 0 && given_up_.contains(plan_task_id(task_of(alternatives_.all[a]))))
        options.forbidden.push_back(static_cast<int>(a));
    return best_plans(fused_, alternatives_, prices, options);
  }
  NetworkPlans plans;
  for (std::size_t a = 0; a < alternatives_.usual; ++a) {
    plans.usual.alternatives.push_back(static_cast<int>(a));
    plans.usual.seconds += prices[a].seconds;
  }
  plans.best = {plans.usual};
  return plans;
}

std::vector<int> PlanHopes::not_measured() const {
  std::vector<int> numbers;
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
    if (prices_[a].kind == PriceKind::estimated) numbers.push_back(static_cast<int>(a));
  return numbers;
}

std::vector<int> PlanHopes::not_begun() const {
  std::set<std::pair<int, StoredAs>> begun;
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
    if (const Alternative& each = alternatives_.all[a]; each.rounds_product && prices_[a].kind == PriceKind::measured)
      begun.emplace(each.group, *each.rounds_product);
  std::vector<int> numbers;
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
    if (const Alternative& each = alternatives_.all[a];
        each.rounds_product && !begun.contains({each.group, *each.rounds_product}))
      numbers.push_back(static_cast<int>(a));
  return numbers;
}

bool PlanHopes::is_unmeasured(int alternative) const {
  const auto a = static_cast<std::size_t>(alternative);
  return prices_[a].kind == PriceKind::estimated && !given_up_.contains(plan_task_id(task_of(alternatives_.all[a])));
}

std::vector<Task> PlanHopes::unmeasured(const std::vector<int>& alternatives) const {
  std::map<int, int> counts;
  for (int a : alternatives)
    if (is_unmeasured(a)) ++counts[alternatives_.all[static_cast<std::size_t>(a)].task];
  std::vector<Task> tasks = weighted(counts);
  std::map<std::string, double> gains = this->gains();
  std::ranges::stable_sort(tasks, std::ranges::greater(),
                           [&](const Task& task) { return task.weight * gains[plan_task_id(task)]; });
  return tasks;
}

std::vector<Task> PlanHopes::most_promising(const std::vector<int>& without) const {
  const std::set<int> left_out(without.begin(), without.end());
  std::vector<std::pair<double, int>> gains;
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
    if (!is_unmeasured(static_cast<int>(a)) || left_out.contains(static_cast<int>(a))) continue;
    const double usual = usual_seconds_of(alternatives_.all[a]);
    if (usual > prices_[a].bound) gains.emplace_back(prices_[a].bound - usual, static_cast<int>(a));
  }
  std::sort(gains.begin(), gains.end());
  std::vector<int> numbers;
  for (std::size_t i = 0; i < std::min(gains.size(), kPromising); ++i) numbers.push_back(gains[i].second);
  return unmeasured(numbers);
}

std::vector<Task> PlanHopes::known_chains(const ChainGain& gain) const {
  std::map<int, int> counts;
  std::map<std::string, double> saved;  // by all kernels of a task
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
    const Alternative& chain = alternatives_.all[a];
    if (!names_chain(chain.name) || !is_unmeasured(static_cast<int>(a))) continue;
    const std::optional<double> known = gain(task_of(chain));
    if (!known || *known <= 1) continue;
    ++counts[chain.task];
    saved[plan_task_id(task_of(chain))] += usual_seconds_of(chain) * (1 - 1 / *known);
  }
  std::vector<Task> tasks = weighted(counts);
  std::ranges::stable_sort(tasks, std::ranges::greater(), [&](const Task& task) { return saved[plan_task_id(task)]; });
  return tasks;
}

/// What one kernel of each task is hoped to save at the most; 0 where it may save nothing.
std::map<std::string, double> PlanHopes::gains() const {
  std::map<std::string, double> gains;
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
    const Alternative& alternative = alternatives_.all[a];
    if (alternative.task < 0) continue;
    double& gain = gains[plan_task_id(task_of(alternative))];
    gain = std::max(gain, usual_seconds_of(alternative) - prices_[a].bound);
  }
  return gains;
}

std::vector<Task> PlanHopes::other_tasks(const std::vector<NetworkPlan>& plans) const {
  std::map<int, int> counts;
  for (const NetworkPlan& plan : plans)
    for (int a : plan.alternatives) {
      const Alternative& alternative = alternatives_.all[static_cast<std::size_t>(a)];
      if (alternative.kind != AlternativeKind::usual && alternative.task >= 0) ++counts[alternative.task];
    }
  return weighted(counts);
}

std::vector<Task> PlanHopes::weighted(const std::map<int, int>& counts) const {
  std::vector<Task> tasks;
  for (const auto& [task, count] : counts) {
    tasks.push_back(alternatives_.tasks[static_cast<std::size_t>(task)]);
    tasks.back().weight = count;
  }
  return tasks;
}

bool PlanHopes::is_cover(const Task& task) const {
  return std::any_of(alternatives_.all.begin(), alternatives_.all.end(), [&](const Alternative& a) {
    return a.kind == AlternativeKind::cover && task_of(a).key == task.key;
  });
}

bool PlanHopes::is_near_cover(const Task& task) const {
  double least = kInfinity;  // of what the usual kernels take, where it stands for several groups in several places
  for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a) {
    const Alternative& cover = alternatives_.all[a];
    if (cover.kind != AlternativeKind::cover || prices_[a].kind != PriceKind::measured ||
        plan_task_id(task_of(cover)) != plan_task_id(task))
      continue;
    const double usual = usual_seconds_of(cover);
    if (usual > 0) least = std::min(least, prices_[a].seconds / usual);
  }
  return least <= kMostRatioOfCover;
}

}  // namespace whet
