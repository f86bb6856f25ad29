#pragma once

#include <vector>

#include "choice/choice.h"

namespace whet {

/// The items use no more than the budgets, to 1e-6 of each.
bool keeps_budgets(const ChoiceProblem&, const std::vector<int>& items);

/// The options with all items forbidden of which one alone uses more than a budget. Errors: such an item is required; without them
/// something wanted or required cannot be computed.
Result<ChoiceOptions> within_budgets(const ChoiceProblem&, const ChoiceOptions&);

struct PricedPlan {
  std::vector<int>
      items;  ///< a plan within the budgets; empty where none was found, which `found` tells from an empty plan
  bool found = false;
  double bound = 0;  ///< no plan within the budgets takes less [s]
};
/// A plan within the budgets, and a bound, by Lagrange's multiplier: what a plan uses is paid for in seconds, and the price rises until the
/// best plan uses little enough. Without a budget the linear program is nearly whole, so that each of these choices is quick. The plan is
/// mostly some percent above the bound, because plans between the prices are never the best of any price.
/// `problem` and `options` have passed check_choice_problem.
Result<PricedPlan> plan_by_multipliers(const ChoiceProblem& problem, const ChoiceOptions& options);

}  // namespace whet
