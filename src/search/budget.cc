#include "search/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace whet {
namespace {

constexpr double kAlpha = 0.2, kBeta = 2;
constexpr std::size_t kWindow = 3;
/// Trials after which the gain of the second half says something about what is to come.
constexpr int kTelling = 96;

struct BudgetEntry {
  const char* name;
  BudgetPolicy policy;
};
constexpr BudgetEntry kPolicies[] = {{"gradient", BudgetPolicy::gradient},
                                     {"round-robin", BudgetPolicy::round_robin},
                                     {"per-task", BudgetPolicy::per_task}};

struct ObjectiveEntry {
  const char* name;
  Objective objective;
};
constexpr ObjectiveEntry kObjectives[] = {
    {"sum", Objective::sum}, {"geomean", Objective::geomean}, {"worst", Objective::worst}};

}  // namespace

std::vector<std::string> known_objectives() {
  std::vector<std::string> names;
  for (const ObjectiveEntry& entry : kObjectives) names.emplace_back(entry.name);
  return names;
}

std::optional<Objective> parse_objective(const std::string& name) {
  for (const ObjectiveEntry& entry : kObjectives)
    if (name == entry.name) return entry.objective;
  return std::nullopt;
}

std::vector<std::string> known_budgets() {
  std::vector<std::string> names;
  for (const BudgetEntry& entry : kPolicies) names.emplace_back(entry.name);
  return names;
}

std::optional<BudgetPolicy> parse_budget(const std::string& name) {
  for (const BudgetEntry& entry : kPolicies)
    if (name == entry.name) return entry.policy;
  return std::nullopt;
}

Budget::Budget(const std::vector<Part>& parts, BudgetPolicy policy, BudgetNetworks networks)
    : policy_(policy), networks_(std::move(networks)) {
  for (const Part& part : parts) tasks_.push_back({.part = part, .rounds = {}});
}

double Budget::network_seconds() const {
  double sum = 0;
  for (const TaskState& task : tasks_)
    if (!task.rounds.empty()) sum += task.part.weight * task.best();
  return sum;
}

std::vector<double> Budget::latencies(double (TaskState::*seconds)() const) const {
  std::vector<double> sums(networks_.runs.size(), 0);
  for (const TaskState& task : tasks_)
    for (std::size_t n = 0; n < sums.size() && !task.rounds.empty(); ++n)
      sums[n] += task.part.uses[n] * (task.*seconds)();
  return sums;
}

std::vector<double> Budget::slopes() const {
  std::vector<double> slopes = networks_.runs;
  if (slopes.empty() || networks_.objective == Objective::sum) return slopes;
  const std::vector<double> now = latencies(&TaskState::best), first = latencies(&TaskState::first);
  if (networks_.objective == Objective::geomean) {
    for (std::size_t n = 0; n < slopes.size(); ++n) slopes[n] = now[n] > 0 ? slopes[n] / now[n] : 0;
    return slopes;
  }
  std::size_t worst = 0;
  for (std::size_t n = 1; n < slopes.size(); ++n)
    if (now[n] * first[worst] > now[worst] * first[n]) worst = n;
  for (std::size_t n = 0; n < slopes.size(); ++n) slopes[n] = n == worst ? 1 : 0;
  return slopes;
}

double Budget::gain(const TaskState& task, const std::vector<double>& slopes) const {
  // Nothing runs yet: whatever runs first is all gain.
  if (task.rounds.empty()) return std::numeric_limits<double>::max() / (1 + task.count);
  const double g = task.best(), c = static_cast<double>(task.count);
  const std::size_t window = std::min(kWindow, task.rounds.size() - 1);
  const double before = task.rounds[task.rounds.size() - 1 - window].seconds;
  const double back = window == 0 ? 0 : (g - before) / static_cast<double>(window);
  double reachable = g - g / c;
  double best_rate = 0;
  for (const TaskState& other : tasks_)
    if (&other != &task && !other.rounds.empty() && other.part.similar == task.part.similar)
      best_rate = std::max(best_rate, other.part.flops / other.best());
  if (best_rate > 0 && task.part.flops > 0) reachable = std::min(reachable, kBeta * task.part.flops / best_rate);
  const double forward = reachable - g;
  const double seconds = std::max(1e-6, task.tuning_seconds / c);
  const double weight =
      slopes.empty() ? task.part.weight : std::inner_product(slopes.begin(), slopes.end(), task.part.uses.begin(), 0.0);
  return weight * -(kAlpha * back + (1 - kAlpha) * forward) / seconds;
}

bool Budget::reached(std::size_t network) const {
  if (network >= networks_.until.size() || networks_.until[network] <= 0) return false;
  double sum = 0;
  for (const TaskState& task : tasks_) {
    const double runs = uses(task, network);
    if (runs > 0 && task.rounds.empty()) return false;
    if (runs > 0) sum += runs * task.best();
  }
  return sum <= networks_.until[network];
}

bool Budget::reached() const {
  for (std::size_t n = 0; n < std::max<std::size_t>(1, networks_.runs.size()); ++n)
    if (!reached(n)) return false;
  return true;
}

std::vector<bool> Budget::wanted() const {
  std::vector<bool> wanted(tasks_.size(), networks_.until.empty());
  for (std::size_t n = 0; n < std::max<std::size_t>(1, networks_.runs.size()); ++n) {
    if (networks_.until.empty() || reached(n)) continue;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (uses(tasks_[i], n) > 0) wanted[i] = true;
  }
  return wanted;
}

std::optional<int> Budget::next_untried(const std::vector<bool>& wanted) const {
  std::optional<int> best;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const TaskState& task = tasks_[i];
    if (!task.open || task.runs || task.trials > 0 || !wanted[i]) continue;
    const auto cost = [&](const TaskState& t) { return t.part.weight * t.part.guessed_seconds * t.part.expected; };
    if (!best || cost(task) > cost(tasks_[static_cast<std::size_t>(*best)])) best = static_cast<int>(i);
  }
  return best;
}

std::optional<int> Budget::next() const {
  const std::vector<bool> wanted = this->wanted();
  if (policy_ != BudgetPolicy::per_task)
    if (const auto untried = next_untried(wanted)) return untried;
  std::optional<int> best;
  double most = 0;
  const std::vector<double> slopes = this->slopes();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].open || tasks_[i].runs || !wanted[i]) continue;
    const double worth = policy_ == BudgetPolicy::gradient      ? gain(tasks_[i], slopes)
                         : policy_ == BudgetPolicy::round_robin ? -tasks_[i].count
                                                                : -static_cast<double>(i);
    if (best && worth <= most) continue;
    best = static_cast<int>(i);
    most = worth;
  }
  return best;
}

void Budget::spend(int task, int trials, double seconds, double best_seconds) {
  TaskState& state = tasks_[static_cast<std::size_t>(task)];
  state.trials += trials;
  state.tuning_seconds += seconds;
  state.runs = false;
  ++state.count;
  if (std::isfinite(best_seconds)) state.rounds.push_back({state.trials, best_seconds});
}

void Budget::begin(int task) { tasks_[static_cast<std::size_t>(task)].runs = true; }

void Budget::close(int task) { tasks_[static_cast<std::size_t>(task)].open = false; }

double Budget::remaining_gain(int task) const {
  const TaskState& state = tasks_[static_cast<std::size_t>(task)];
  if (state.rounds.empty()) return std::numeric_limits<double>::infinity();
  if (state.trials < kTelling) return state.part.weight * state.best();
  double half = state.rounds.front().seconds;
  for (const Round& round : state.rounds)
    if (round.trials <= state.trials / 2) half = round.seconds;
  return state.part.weight * std::max(0.0, half - state.best());
}

double Budget::remaining_share(int task) const {
  const TaskState& state = tasks_[static_cast<std::size_t>(task)];
  if (networks_.runs.empty()) return remaining_gain(task) / network_seconds();
  const std::vector<double> now = latencies(&TaskState::best);
  double most = 0;
  for (std::size_t n = 0; n < now.size(); ++n)
    if (state.part.uses[n] > 0)
      most = std::max(most, state.part.uses[n] / state.part.weight * remaining_gain(task) / now[n]);
  return most;
}

}  // namespace whet
