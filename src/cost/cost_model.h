#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace whet {

/// Learns which candidates are fast from those that were measured: gradient boosted trees (XGBoost) over rows of
/// `features`. One model serves all tasks of a run, because loop nests are slow for the same reasons in all of them.
///
/// The label of a row is its speed as a share of the best of its task, 0 where it did not run. Labels are formed anew
/// at each fit, so that they follow the best. Faster candidates weigh more, because the search chooses among them.
class CostModel {
 public:
  explicit CostModel(std::uint64_t seed);
  ~CostModel();
  CostModel(const CostModel&) = delete;

  /// Adds the result of a candidate of task `task` (any number, the same for all of its rows). `seconds`: infinity
  /// where it failed.
  void add(int task, std::vector<float> row, double seconds);
  /// Fits again when the number of rows has grown by a fifth since the last fit. Returns whether it did.
  bool fit_if_grown();
  /// False until the first fit.
  bool fitted() const;
  /// Returns one score for each row: the expected share of the task's best speed, about 0 to 1. Needs `fitted`.
  std::vector<float> score(const std::vector<std::vector<float>>& rows) const;
  std::size_t rows() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
