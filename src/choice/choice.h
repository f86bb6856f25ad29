#pragma once

#include <vector>

#include "base/result.h"

namespace whet {

/// One way to compute some values from others: a kernel, or a transform between two layouts. Values have the numbers 0 .. values - 1,
/// and items are named by their places in a problem.
struct ChoiceItem {
  std::vector<int> reads, writes;
  double seconds = 0;  ///< finite, not negative
};

struct ChoiceProblem {
  int values = 0;
  std::vector<int> given;   ///< values that are there without an item: inputs
  std::vector<int> wanted;  ///< values that every plan writes, unless they are given: outputs
  std::vector<ChoiceItem> items;
  /// One number a value: values of one number are forms of one tensor. The plans do not depend on it, but they are found sooner.
  /// Empty: values that items lead from one to the other and back, each of which reads one value and writes one.
  std::vector<int> tensors = {};
};

struct ChoiceOptions {
  std::vector<int> required, forbidden;  ///< items of every plan, and of no plan
  /// Items of the plan that is used today. Of plans that take equally long, the best one has the fewest items that are not usual,
  /// and then low numbers. A plan with n fewer unusual items may win although it takes longer by n * 1.5e-10 of its seconds.
  std::vector<int> usual;
  int plans = 1;  ///< the best plans to find, at most
  /// Each plan leaves out an item of each better plan; where this is not empty, an item among these.
  std::vector<int> distinct;
  double seconds_limit = 10;  ///< of one run of a solver; the search ends with the first run that reaches it
};

/// A plan without an item that could be left out.
struct ChosenPlan {
  std::vector<int> items;  ///< in an order in which they can run
  double seconds = 0;
};

struct ChosenPlans {
  std::vector<ChosenPlan> plans;  ///< the best first; fewer than asked for where no more differ
  double bound = 0;               ///< no plan takes less, to 1e-7 of it [s]
  double gap = 0;                 ///< how much of the best plan's seconds lies above the bound: 0 .. 1
  int cuts = 0;                   ///< loops of values that were excluded because they were chosen without a start
  bool optimal = false;           ///< each plan was proven to be the best one that differs from those before it
};

/// The best plans: sets of items that write every wanted value, and in which every item can run after items that wrote what it
/// reads, with the least sum of seconds. Several items of a plan may write the same value. The same arguments give the same plans,
/// unless the limit is reached.
/// Errors: invalid_input for numbers out of range, for tensors that are not one a value, seconds that are negative or not finite, an item that is required and forbidden,
/// a wanted value or a required item that cannot be computed from what is given.
Result<ChosenPlans> choose_plans(const ChoiceProblem&, const ChoiceOptions&);

}  // namespace whet
