#pragma once

#include <cstdint>
#include <vector>

#include "whet/model.h"

namespace whet {

/// Times of the usual run of a model [ns].
struct UsualRun {
  double whole_ns = 0;
  std::vector<double> step_ns;
};

/// The means that a profile has.
UsualRun mean_run(const whet_profile&);

/// The times of single runs, from profiles that add them up. Of the first 4,096, of fewer where a model has
/// over 1,024 steps: more tell nothing new, and take memory.
class RunTimes {
 public:
  /// The profile of all runs so far; after each run.
  void take(const whet_profile&);
  /// Medians, which the few runs do not move that another program disturbed.
  UsualRun usual() const;

 private:
  struct Times {
    std::uint64_t sum = 0;
    std::vector<double> ns;  ///< one a run
    void take(std::uint64_t new_sum);
    double median() const;
  };
  Times whole_;
  std::vector<Times> steps_;
};

}  // namespace whet
