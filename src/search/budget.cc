#include "search/budget.h"

#include <cmath>

namespace whet {

Budget::Budget(const std::vector<Part>& parts) {
  for (const Part& part : parts) tasks_.push_back({.part = part});
}

double Budget::network_seconds() const {
  double sum = 0;
  for (const TaskState& task : tasks_)
    if (task.measured) sum += task.part.weight * task.best_seconds;
  return sum;
}

double Budget::share(const TaskState& task) const {
  if (task.measured) return task.part.weight * task.best_seconds;
  int measured = 0;
  for (const TaskState& each : tasks_) measured += each.measured;
  return measured ? network_seconds() / measured : 1;
}

std::optional<int> Budget::next() const {
  std::optional<int> best;
  bool best_untried = false;
  double best_debt = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TaskState& task = tasks_[i];
    if (!task.open) continue;
    const bool untried = task.trials == 0;
    const double debt = untried ? task.part.weight * task.part.guessed_seconds : share(task) / task.trials;
    if (best && (best_untried > untried || (best_untried == untried && best_debt >= debt))) continue;
    best = static_cast<int>(i);
    best_untried = untried;
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
