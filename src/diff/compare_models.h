#pragma once

#include <string>
#include <vector>

#include "diff/comparison.h"

namespace whet {

/// A compiled model as it was measured.
struct MeasuredModel {
  std::string name, target, records, compiler;
  std::string place;            ///< "2 threads on cores 0,1"
  std::vector<double> seconds;  ///< of inferences or bursts of them, alternately with the other model
  struct Step {
    std::string node, op;
    double seconds = 0;
  };
  std::vector<Step> steps;  ///< of one inference, in order
};

/// Compares two models step by step. Both have as many `seconds`, at least one.
Comparison compare_models(const MeasuredModel& before, const MeasuredModel& after);

}  // namespace whet
