#include "choice/choice.h"

#include <algorithm>
#include <utility>

#include "choice/budgets.h"
#include "choice/check_problem.h"
#include "choice/formulate.h"
#include "choice/integer_program.h"
#include "choice/narrow.h"
#include "choice/order.h"

namespace whet {
namespace {

/// Finds one plan after the other; the rows that exclude circles for one hold for all.
class PlanSearch {
 public:
  PlanSearch(ChoiceProblem problem, const ChoiceOptions& options, const PricedPlan& known)
      : problem_(std::move(problem)),
        options_(options),
        known_bound_(known.bound),
        formulation_(problem_, options_, known.items),
        linear_solver_(formulation_.program()) {}

  Result<ChosenPlans> all() {
    while (static_cast<int>(found_.plans.size()) < options_.plans && !over_) WHET_RETURN_IF_ERROR(next());
    found_.cuts = formulation_.circles();
    found_.optimal = !limit_reached_;
    const double best = found_.plans[0].seconds;
    const bool is_least = first_is_best_ && options_.gap == 0;
    found_.bound = is_least ? best : std::min(best, std::max(known_bound_, found_.bound));
    found_.gap = best > 0 ? (best - found_.bound) / best : 0;
    return std::move(found_);
  }

 private:
  Status next() {
    linear_solver_.limit(options_.seconds_limit);
    for (;;) {
      const IntegerSolution solution = solve();
      limit_reached_ = over_ = !solution.finished;
      if (found_.plans.empty()) {
        first_is_best_ = solution.finished;
        found_.bound = std::max(0.0, formulation_.seconds_of(solution.bound - formulation_.perturbation()));
      }
      if (solution.columns.empty()) return end();
      const std::vector<int> items = items_of(solution);
      const std::vector<std::vector<int>> circles = loops_without_start(problem_, items);
      if (circles.empty()) return take(over_ && start_is_better_than(items) ? formulation_.start() : items);
      if (over_) return end();
      if (!formulation_.exclude(circles))
        return Error{"the solver chose items that its rows exclude", ErrorKind::internal};
    }
  }

  /// The linear program's solution, where that is whole; otherwise the integer program's.
  IntegerSolution solve() {
    const LinearSolution linear = solve_linear();
    if (linear.solved && !linear.feasible) return {{}, 0, true};
    if (linear.feasible && linear.is_whole()) return {linear.columns, linear.cost, true};
    std::vector<double> extra_costs(problem_.items.size(), 0);
    if (linear.feasible)
      extra_costs = least_extra_costs(problem_, options_.required, formulation_.allowed(), linear.reduced);
    return solve_narrowly(formulation_.program(), linear.cost, extra_costs, columns_of_start(), options_.seconds_limit,
                          options_.gap);
  }

  /// With rows of all sets that its solution would break, or as many as this many rounds find.
  LinearSolution solve_linear() {
    constexpr int kRounds = 100;
    LinearSolution solution = linear_solver_.solve(formulation_.program());
    for (int round = 0; round < kRounds && solution.feasible && formulation_.add_broken_rows(solution.columns);
         ++round) {
      LinearSolution next = linear_solver_.solve(formulation_.program());
      if (!next.solved) break;
      solution = std::move(next);
    }
    return solution;
  }

  /// The columns of the plan that is known, which the first search starts with.
  std::vector<double> columns_of_start() const {
    if (!found_.plans.empty() || !formulation_.has_start()) return {};
    std::vector<double> columns(problem_.items.size(), 0);
    for (int item : formulation_.start()) columns[item] = 1;
    return columns;
  }

  std::vector<int> items_of(const IntegerSolution& solution) const {
    std::vector<int> items;
    for (std::size_t item = 0; item < problem_.items.size() && !solution.columns.empty(); ++item) {
      if (solution.columns[item] > 0.5) items.push_back(static_cast<int>(item));
    }
    return items;
  }

  /// No plan follows. Where none was found, the plan that is known is taken, without a proof.
  Status end() {
    over_ = true;
    if (!found_.plans.empty()) return ok_status();
    if (!formulation_.has_start())
      return limit_reached_ ? Error{"no plan within the budgets was found before the limit", ErrorKind::limit}
                            : Error{"no plan keeps the budgets"};
    limit_reached_ = true;
    first_is_best_ = false;
    return take(formulation_.start());
  }

  bool start_is_better_than(const std::vector<int>& items) const {
    return found_.plans.empty() && formulation_.has_start() &&
           seconds_of_items(formulation_.start()) < seconds_of_items(items);
  }

  double seconds_of_items(const std::vector<int>& items) const {
    double seconds = 0;
    for (int item : items) seconds += problem_.items[item].seconds;
    return seconds;
  }

  Status take(const std::vector<int>& items) {
    ChosenPlan plan;
    plan.items = run_order(problem_, without_spare_items(problem_, items, options_)).items;
    plan.seconds = seconds_of_items(plan.items);
    over_ |= !formulation_.differ_from(plan.items);
    found_.plans.push_back(std::move(plan));
    return ok_status();
  }

  const ChoiceProblem problem_;
  const ChoiceOptions& options_;
  const double known_bound_;
  Formulation formulation_;
  LinearSolver linear_solver_;
  ChosenPlans found_;
  bool over_ = false, limit_reached_ = false, first_is_best_ = false;
};

ChoiceProblem without_repeated_values(ChoiceProblem problem) {
  const auto once = [](std::vector<int>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  once(problem.given);
  once(problem.wanted);
  for (ChoiceItem& item : problem.items) once(item.reads), once(item.writes);
  return problem;
}

}  // namespace

Result<ChosenPlans> choose_plans(const ChoiceProblem& problem, const ChoiceOptions& options) {
  WHET_RETURN_IF_ERROR(check_choice_problem(problem, options));
  if (problem.budgets.empty()) return PlanSearch(without_repeated_values(problem), options, {}).all();
  WHET_TRY(const ChoiceOptions within, within_budgets(problem, options));
  WHET_TRY(const PricedPlan known, plan_by_multipliers(problem, within));
  return PlanSearch(without_repeated_values(problem), within, known).all();
}

}  // namespace whet
