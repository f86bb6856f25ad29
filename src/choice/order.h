#pragma once

#include <vector>

#include "choice/choice.h"

namespace whet {

/// What runs when nothing but the given values is there at first.
struct RunOrder {
  std::vector<int> items;  ///< those that can run, in an order in which they can; of several, the lowest number first
  std::vector<char> written;                        ///< for each value: is given or written
  bool runs(const std::vector<int>& values) const;  ///< all of them are given or written
};

RunOrder run_order(const ChoiceProblem&, const std::vector<int>& items);

/// Items that together write the wanted values and let the required items run: for each value the writer with the least sum of
/// seconds over all that it needs, counted once for each use. Nothing where `allowed` items cannot do that. The plan that a solver
/// starts with.
std::vector<int> greedy_plan(const ChoiceProblem&, const std::vector<char>& allowed, const std::vector<int>& required);

/// All the items can run, and they are all required items and write all wanted values.
bool is_whole_plan(const ChoiceProblem&, const std::vector<int>& items, const ChoiceOptions&);

/// Leaves out items that are not required and that the others do without: those that are not usual first, then the slowest.
std::vector<int> without_spare_items(const ChoiceProblem&, std::vector<int> items, const ChoiceOptions&);

/// Sets of values that the items write from each other and never from outside. Each of the sets is strongly connected; no
/// set is empty. None where all items can run and write the wanted values.
std::vector<std::vector<int>> loops_without_start(const ChoiceProblem&, const std::vector<int>& items);

}  // namespace whet
