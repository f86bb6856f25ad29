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
  double expected = 0;          ///< the sum of uses x seconds
};

/// What is known of a task with sizes at some of them: the fastest schedules of each point that has records, three at most, the one with
/// the least expected seconds first. Where a schedule was not timed, its time is that of the point's best, longer by the ratio of the
/// analytic estimates; where nothing was timed, its own time by the ratio of its estimates. A schedule that does not fit a point is
/// estimated by the one that is fitted to it there, as a kernel of a range has a copy of its tile for each remainder.
///   dag     with sizes, which each point has
///   target  records of other targets do not count
std::vector<SizedSchedule> across_sizes(const ComputeDag& dag, const std::vector<SizedPoint>&, const Records&,
                                        const Target& target, const SpaceOptions&);

/// Seconds that each schedule of a task is expected to take at each of some points; one list a schedule.
using ExpectedSeconds = std::vector<std::vector<double>>;
/// Cuts points into pieces, at each of which every task has one schedule, so that all together take the least time: exactly, by dynamic
/// programming. At most `most` pieces; one more only where it saves `worth` of the seconds that there are with one less. Gives where each
/// begins, first 0.
///   tasks  each has at least one schedule, and all have as many points
std::vector<std::size_t> cut_points(const std::vector<ExpectedSeconds>& tasks, std::size_t points, std::size_t most,
                                    double worth);

/// The points whose DAG has records for this target.
std::vector<bool> known_at(const ComputeDag& dag, const std::vector<SizeValues>&, const Records&, const Target&);

}  // namespace whet
