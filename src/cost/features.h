#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/machine_rates.h"
#include "target/target.h"

namespace whet {

/// The features of schedules that the ranking models use, for one kind of target.
struct FeatureSet {
  std::string_view kind;
  std::vector<float> (*row)(const LoopTree&, const Target&);
  const std::vector<std::string>& (*names)();
  double (*seconds)(const LoopTree&, const Target&);
  /// The device's rates; in place of zeros the rates of its kind. Null: the kind has none.
  MachineRates (*rates)(const MachineRates&, const Target&) = nullptr;
  double start_seconds = 0;  ///< that starting a kernel takes
  /// Products of the DAG that the device computes in the time of one multiply-add of f32. Null: one.
  double (*product_gain)(const ComputeDag&, const Target&) = nullptr;
  /// `seconds` as though all data lay in the nearest cache. Null: `seconds`.
  double (*issue_seconds)(const LoopTree&, const Target&) = nullptr;
};
/// One row for each kind of target.
std::span<const FeatureSet> feature_sets();

/// The features of a schedule: one row of numbers, the same columns for every task of one kind of target. Figures that
/// range over magnitudes are logarithms (base 2, of 1 + x). They are computed from the loop tree; nothing is lowered.
/// Empty where the target's kind has no feature set.
std::vector<float> features(const LoopTree&, const Target&);
/// A name for each column.
const std::vector<std::string>& feature_names(const Target&);
/// Returns an estimate of the run time [s] that uses no measurements. It ranks candidates of one task; its absolute value
/// is no prediction. 0 where the target's kind has no feature set.
double analytic_seconds(const LoopTree&, const Target&);
/// The same as though all data lay in the nearest cache, where the kind can tell: of instructions alone.
double issue_seconds(const LoopTree&, const Target&);

}  // namespace whet
