#include "plan/price.h"

#include <algorithm>

#include "cost/features.h"
#include "cost/limit.h"

namespace whet {
namespace {

/// The estimate of the task's default schedule; 0 where there is none.
double estimate_of(const Task& task, const Target& target, const SpaceOptions& schedules) {
  const Result<Steps> steps = default_steps(task.dag, target, schedules);
  if (!steps.ok()) return 0;
  const Result<LoopTree> tree = replay(task.dag, *steps);
  return tree.ok() ? analytic_seconds(*tree, target) : 0;
}

double measured_seconds(const Task& task, const Records& records, const Target& target, const SpaceOptions& schedules) {
  const auto best = records.best(task.key, task.within, target,
                                 [&](const Record& record) { return permits(schedules, record.steps); });
  return best && best->exact ? best->record->outcome.clock_seconds() : 0;
}

double bound_of(const Task& task, const Target& target, const PriceOptions& options) {
  const std::vector<Limit> limits = limits_of(task.dag, target, options.rates, options.network_bytes);
  return limits.empty() ? 0 : limits.front().seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What was measured of a task, and what is guessed where nothing was.
struct TaskPrice {
  double measured = 0, guessed = 0, roofline = 0;
};

std::vector<TaskPrice> task_prices(const std::vector<Task>& tasks, const Records& records, const Target& target,
                                   const PriceOptions& options) {
  std::vector<TaskPrice> prices;
  std::vector<double> factors;
  for (const Task& task : tasks) {
    TaskPrice price{.measured = measured_seconds(task, records, target, options.schedules)};
    price.guessed = estimate_of(task, target, options.schedules);
    price.roofline = bound_of(task, target, options);
    if (price.measured > 0 && price.guessed > 0) factors.push_back(price.measured / price.guessed);
    prices.push_back(price);
  }
  const double factor = median(std::move(factors));
  for (TaskPrice& price : prices) price.guessed *= factor;
  return prices;
}

/// The time of the usual kernels whose work it does; 0 where that is not known of all, or there are none.
double sum_of_usual(const Alternative& alternative, const std::map<int, double>& usual) {
  double sum = 0;
  for (int group : alternative.instead) {
    const auto seconds = usual.find(group);
    if (seconds == usual.end() || seconds->second <= 0) return 0;
    sum += seconds->second;
  }
  return sum;
}

}  // namespace

std::vector<Price> prices_of(const Alternatives& alternatives, const Records& records, const Target& target,
                             const PriceOptions& options) {
  const std::vector<TaskPrice> tasks = task_prices(alternatives.tasks, records, target, options);
  std::map<int, double> usual;  // seconds of the groups' usual kernels
  std::vector<Price> prices;
  for (const Alternative& a : alternatives.all) {
    if (a.task < 0) {
      prices.emplace_back();
      continue;
    }
    const TaskPrice& task = tasks[static_cast<std::size_t>(a.task)];
    Price price{PriceKind::measured, task.measured, task.measured};
    if (task.measured == 0) {
      const double twin = sum_of_usual(a, usual);
      price = {PriceKind::estimated, twin > 0 ? twin : task.guessed, task.roofline};
      const auto known = options.hope_of.find(a.name);
      double hope = known == options.hope_of.end() ? options.hope : known->second;
      if (a.hope > 0) hope = a.hope;
      price.bound = std::max(price.bound, hope * twin);
      price.seconds = std::max(price.seconds, price.bound);
    }
    if (a.kind == AlternativeKind::usual) usual[a.group] = price.seconds;
    prices.push_back(price);
  }
  return prices;
}

}  // namespace whet
