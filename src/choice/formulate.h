#pragma once

#include <optional>
#include <set>
#include <vector>

#include "choice/choice.h"
#include "choice/integer_program.h"
#include "choice/tensors.h"

namespace whet {

/// A choice as an integer program:
///   a column for each item (it is chosen), for each value and for each tensor (it is read, or wanted);
///   rows: an item's values are read; a value that is read is written by an item that does not read it itself; a tensor is read where
///     one of its values is;
///   rows of sets: if a value of a set is read, an item that reads none of the set writes into the set. In every order one item
///     is the first that writes a value of the set, so these rows exclude no plan. Without them transforms could make a tensor
///     from itself in a circle. The sets of tensors.h are there from the start; others become rows when a solution has such a
///     circle;
///   a row for each budget: what the items use is at most the budget;
///   rows of the tensors that each tensor needs (tensors.h), and of the sets that a solution of the linear program breaks
///     (separate.h). With them the linear program's solution is mostly whole, or within a thousandth of the best plan.
///
/// Costs: seconds, scaled so that the known plan costs 2^27, and 0.01 .. 0.02 for an item that is not usual. The solver
/// tells costs apart that differ by 1e-5, and linear programs are solved to 1e-7. A thousand unusual items add less than 2^27 / 6e6.
class Formulation {
 public:
  /// `problem` has passed check_choice_problem; no value is twice among an item's.
  ///   known  a plan within the budgets, where there are budgets and one is known; else empty
  Formulation(const ChoiceProblem& problem, const ChoiceOptions& options, const std::vector<int>& known = {});

  /// A plan that is known: the usual one, where it is a plan and not slower than the greedy one. With budgets: the fastest of these and
  /// `known` that keeps them.
  const std::vector<int>& start() const { return start_; }
  bool has_start() const { return has_start_; }  ///< false: with budgets, no plan is known that keeps them

  const std::vector<char>& allowed() const { return allowed_; }  ///< for each item: some plan may choose it
  const IntegerProgram& program() const { return program_; }
  double seconds_of(double cost) const { return cost / scale_; }

  /// The most that the unusual items of a plan add to its cost.
  double perturbation() const { return perturbation_; }

  /// Adds rows of sets that a solution of the linear program breaks; false where it breaks none that Separation finds.
  bool add_broken_rows(const std::vector<double>& columns);

  /// Excludes circles. Returns false where all were excluded before.
  bool exclude(const std::vector<std::vector<int>>& sets);
  int circles() const { return circles_; }

  /// Plans that are found from now on leave out one of `items`, a distinct one if there is one. Returns false where none can be
  /// left out.
  bool differ_from(const std::vector<int>& items);

 private:
  void allow_useful_items();
  void forbid_dominated_items();
  void find_start(const std::vector<int>& known);
  void find_start_within_budgets(const std::vector<int>& known, const std::vector<int>& usual);
  void add_columns();
  void add_item_rows();
  void add_budget_rows();
  void add_tensor_rows();
  void add_needs();
  IntegerProgram::Row row_of_set(const std::vector<int>& values) const;
  /// Adds the row of a set: if one of `values` is read (the columns `reads`), an item from outside writes into the set.
  void add_set(const std::vector<int>& values, const std::vector<int>& reads);
  int column_of(int value) const { return static_cast<int>(problem_.items.size()) + value; }

  const ChoiceProblem& problem_;
  const ChoiceOptions& options_;
  std::vector<char> given_, wanted_, required_, usual_, distinct_;
  std::vector<char> allowed_;
  std::vector<std::vector<int>> writers_;  // for each value the allowed items that write it
  std::vector<int> start_;
  bool has_start_ = true;
  double scale_ = 1;  // [1/s]
  double perturbation_ = 0;
  IntegerProgram program_;
  std::optional<Tensors> tensors_;
  std::vector<int> tensor_columns_;  // for each tensor
  std::set<std::vector<int>> sets_;
  int circles_ = 0;
};

}  // namespace whet
