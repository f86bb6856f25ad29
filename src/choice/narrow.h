#pragma once

#include <vector>

#include "choice/choice.h"
#include "choice/integer_program.h"

namespace whet {

/// What a plan with an item costs more than the linear program's solution, at least, for each item: from the columns' reduced costs,
/// each of which a solution pays whose column is 1 instead of 0. A plan with the item has a chain of items behind it, up to a wanted value, and
/// chains before it, down from given values; the cheaper ones' reduced costs are the least that it pays.
std::vector<double> least_extra_costs(const ChoiceProblem&, const std::vector<int>& required,
                                      const std::vector<char>& allowed, const std::vector<double>& reduced);

/// Solves an integer program on the columns that the best solution may have: items whose extra cost is above a margin are left out. A
/// solution whose cost is within the margin is the best of all; where it is not, the margin becomes what the solution shows to be enough.
/// `linear_cost` is the linear program's; the first columns are those of the items, of which `extra_costs` are. `start` has their
/// columns of a known solution, or is empty.
IntegerSolution solve_narrowly(const IntegerProgram& program, double linear_cost,
                               const std::vector<double>& extra_costs, const std::vector<double>& start,
                               double seconds);

}  // namespace whet
