#pragma once

#include <vector>

#include "base/result.h"

namespace whet {

/// One way to compute some values from others: a kernel, or a transform between two layouts. Values have the numbers 0 .. values - 1,
/// and items are named by their places in a problem.
struct ChoiceItem {
  std::vector<int> reads, writes;
  double seconds = 0;  ///< finite, not negative
  /// How much of each of the problem's budgets it uses: finite, not negative. Empty: nothing.
  std::vector<double> uses = {};
};

struct ChoiceProblem {
  int values = 0;
  std::vector<int> given;   ///< values that are there without an item: inputs
  std::vector<int> wanted;  ///< values that every plan writes, unless they are given: outputs
  std::vector<ChoiceItem> items;
  /// The tensor of each value: values of one tensor are its forms. The plans do not depend on it, but it makes the search faster.
  /// Empty: two values are of one tensor where items that read and write one value each lead from one to the other and back.
  std::vector<int> tensors = {};
  /// The sum of what a plan's items use of each is at most this, to 1e-6 of it. Finite, not negative.
  std::vector<double> budgets = {};
};

struct ChoiceOptions {
  std::vector<int> required, forbidden;  ///< items of every plan, and of no plan
  /// Items of the usual plan. Of plans with equal seconds the best one has the fewest unusual items, and then the lowest numbers.
  /// A plan with n fewer unusual items may win although it takes longer by n * 1.5e-10 of its seconds.
  std::vector<int> usual;
  int plans = 1;  ///< the best plans to find, at most
  /// Each plan leaves out at least one item of each better plan. If `distinct` is not empty, that item is one of these.
  std::vector<int> distinct;
  double seconds_limit = 10;  ///< of one run of a solver; the search ends with the first run that reaches it
  /// A plan is good enough where no other takes less than (1 - gap) of its seconds. A budget makes the linear program fractional, and the
  /// last thousandth of a proof takes longer than all before it.
  double gap = 0;
};

/// A plan without an item that could be left out.
struct ChosenPlan {
  std::vector<int> items;  ///< in an order in which they can run
  double seconds = 0;
};

struct ChosenPlans {
  std::vector<ChosenPlan> plans;  ///< the best first; fewer than asked for where no more differ
  double bound = 0;               ///< no plan within the budgets takes less, to 1e-7 of it [s]
  double gap = 0;                 ///< (the best plan's seconds - bound) / these seconds: 0 .. 1
  int cuts = 0;                   ///< sets of values that were excluded because they were written from each other alone
  bool optimal =
      false;  ///< each plan was proven to be the best one that differs from those before it, to `ChoiceOptions::gap`
};

/// The best plans: sets of items with the least sum of seconds that write every wanted value, that have an order in which each
/// item runs behind items that write the values that it reads, and that use no more than the budgets. Several items of a plan may write
/// the same value. The same arguments give the same plans, unless the limit is reached.
/// Errors: invalid_input for numbers out of range; a list of tensors whose length is not the number of values; seconds, uses or budgets
/// that are negative or not finite; uses of another number of budgets; an item that is required and forbidden; a wanted value or a
/// required item that cannot be computed from the given values, or not within the budgets. limit: no plan within the budgets was
/// found before the limit.
Result<ChosenPlans> choose_plans(const ChoiceProblem&, const ChoiceOptions&);

}  // namespace whet
