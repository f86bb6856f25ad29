#pragma once

#include <vector>

#include "choice/choice.h"

namespace whet {

/// The items that can run from the given values alone.
struct RunOrder {
  std::vector<int> items;  ///< those that can run, in an order in which they can; of several, the lowest number first
  std::vector<char> written;                        ///< for each value: is given or written
  bool runs(const std::vector<int>& values) const;  ///< all of them are given or written
};

RunOrder run_order(const ChoiceProblem&, const std::vector<int>& items);

/// The plan that a solver starts with: items that write the wanted values and let the required items run. Each value is written by
/// the item with the least sum of seconds over all items that it needs; an item counts once for each use. Nothing where
/// `allowed` items cannot do that.
std::vector<int> greedy_plan(const ChoiceProblem&, const std::vector<char>& allowed, const std::vector<int>& required);

/// True where all items can run, all required ones are among them, and all wanted values are written.
bool is_whole_plan(const ChoiceProblem&, const std::vector<int>& items, const ChoiceOptions&);

/// Leaves out items that are not required and that no other item needs: unusual ones first, then the slowest.
std::vector<int> without_spare_items(const ChoiceProblem&, std::vector<int> items, const ChoiceOptions&);

/// Sets of values that the items write from each other and never from outside. Each of the sets is strongly connected; no
/// set is empty. None where all items can run and write the wanted values.
std::vector<std::vector<int>> loops_without_start(const ChoiceProblem&, const std::vector<int>& items);

}  // namespace whet
