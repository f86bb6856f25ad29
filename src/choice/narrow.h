#pragma once

#include <vector>

#include "choice/choice.h"
#include "choice/integer_program.h"

namespace whet {

/// For each item the least extra cost of a plan with that item over the linear program's solution. It comes from the reduced costs
/// of the columns: a solution pays one where its column is 1 instead of 0. A plan with the item has a chain of items behind it, up to
/// a wanted value, and chains before it, from given values. The plan pays at least the reduced costs of the cheapest such chains.
std::vector<double> least_extra_costs(const ChoiceProblem&, const std::vector<int>& required,
                                      const std::vector<char>& allowed, const std::vector<double>& reduced);

/// Solves an integer program on the columns that the best solution may have: items whose extra cost is above a margin are left out. If
/// the cost of the solution is within the margin, it is the best of all. If not, that cost is a margin that is enough, and it solves again.
/// `linear_cost` is the linear program's; the first columns are those of the items, of which `extra_costs` are. `start` has their
/// columns of a known solution, or is empty. With a gap, as solve_integer_program has it.
IntegerSolution solve_narrowly(const IntegerProgram& program, double linear_cost,
                               const std::vector<double>& extra_costs, const std::vector<double>& start, double seconds,
                               double gap = 0);

}  // namespace whet
