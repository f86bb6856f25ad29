#include "search/budget.h"

#include <cmath>

namespace whet {

Budget::Budget(std::vector<double> weights) {
  for (double weight : weights) tasks_.push_back({.weight = weight});
}

double Budget::network_seconds() const {
  double sum = 0;
  for (const TaskState& task : tasks_)
    if (task.measured) sum += task.weight * task.best_seconds;
  return sum;
}

double Budget::share(const TaskState& task) const {
  if (task.measured) return task.weight * task.best_seconds;
  int measured = 0;
  for (const TaskState& each : tasks_) measured += each.measured;
  return measured ? network_seconds() / measured : 1;
}

std::optional<int> Budget::next() const {
  std::optional<int> best;
  double best_debt = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TaskState& task = tasks_[i];
    if (!task.open) continue;
    if (task.trials == 0) return static_cast<int>(i);
    const double debt = share(task) / task.trials;
    if (best && debt <= best_debt) continue;
    best = static_cast<int>(i);
    best_debt = debt;
  }
  return best;
}

void Budget::spend(int task, int trials, double best_seconds) {
  TaskState& state = tasks_[static_cast<std::size_t>(task)];
  state.trials += trials;
  if (!std::isfinite(best_seconds)) return;
  state.measured = true;
  state.best_seconds = best_seconds;
}

void Budget::close(int task) { tasks_[static_cast<std::size_t>(task)].open = false; }

}  // namespace whet
