#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/dag.h"
#include "records/records.h"
#include "space/space.h"
#include "target/target.h"
#include "tensor/shape.h"
#include "trial/candidate.h"

namespace whet {

/// Sizes of a task, and how often requests run it there.
struct SizedPoint {
  SizeValues at;
  double uses = 1;
};

/// A schedule that was measured at some sizes of a task.
struct SizedSchedule {
  std::string steps;  ///< text of schedule/steps.h
  Candidate candidate;
  std::string packing;  ///< how it has the task's constants, as text: schedules of one packing read the same weights
  SizeValues from;      ///< where it was fastest of all, or nearly so
  std::vector<double> seconds;  ///< one a point
  std::vector<bool> measured;   ///< the same: else it is an estimate
  std::vector<bool> ranged;     ///< the same: as the kernel for all sizes, not as that of the point's size alone
  double expected = 0;          ///< the sum of uses x seconds
};

/// What is known of a task with sizes at some of them: the schedules that were timed as kernels for all sizes, the one with the least
/// expected seconds first, then the fastest others of each point that has records, three at most, likewise. Where a schedule was not timed, its time is that of
/// the point's best, longer by the ratio of the analytic estimates; where nothing was timed, its own time by the ratio of its estimates.
/// A schedule that does not fit a point is estimated by the one that is fitted to it there, as a kernel of a range has a copy of its tile
/// for each remainder. Where any was timed at a point as a kernel for all sizes, only such times are measured: one of that size alone is
/// an estimate then, longer by what others took longer for all sizes. Schedules that failed as kernels for all sizes are left out.
///   dag     with sizes, which each point has
///   target  records of other targets do not count
std::vector<SizedSchedule> across_sizes(const ComputeDag& dag, const std::vector<SizedPoint>&, const Records&,
                                        const Target& target, const SpaceOptions&);

/// Names a task with sizes in record files: by its DAGs at the ends of its ranges, whatever the sizes are called.
std::string range_id(const ComputeDag& dag);

/// Seconds that each schedule of a task is expected to take at each of some points; one list a schedule.
using ExpectedSeconds = std::vector<std::vector<double>>;
/// Some schedules of a task, each point having the fastest of them.
struct KernelChoice {
  std::vector<std::size_t> kernels;  ///< numbers of the schedules, ascending
  double seconds = 0;                ///< the sum over the points
  double bound = 0;                  ///< the same with all schedules: no choice takes less
};
/// Those with the least sum, exactly: all subsets are tried. At most `most` of them; one more only where it saves `worth` of the seconds
/// that there are with one less.
///   seconds  at least one schedule
KernelChoice choose_kernels(const ExpectedSeconds& seconds, std::size_t most, double worth);

/// Cuts points into pieces, at each of which every task has one schedule, so that all together take the least time: exactly, by dynamic
/// programming. At most `most` pieces; one more only where it saves `worth` of the seconds that there are with one less. Gives where each
/// begins, first 0.
///   tasks  each has at least one schedule, and all have as many points
std::vector<std::size_t> cut_points(const std::vector<ExpectedSeconds>& tasks, std::size_t points, std::size_t most,
                                    double worth);

/// The points at which there are records for this target: of their DAG, or of kernels for all sizes.
std::vector<bool> known_at(const ComputeDag& dag, const std::vector<SizeValues>&, const Records&, const Target&);

}  // namespace whet
