#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/measurer.h"
#include "records/record_file.h"
#include "space/space.h"
#include "target/target.h"
#include "transfer/across_sizes.h"

namespace whet {

/// A task for all sizes of ranges.
struct LadderTask {
  std::string name;
  ComputeDag dag;                  ///< with sizes
  std::vector<SizedPoint> points;  ///< of its own sizes: at which it is timed, and how often requests run it there
  /// Schedules that are timed wherever the task is, whatever the records rank: of each the steps, the candidate and the sizes that they are for.
  std::vector<SizedSchedule> always = {};
};

/// How far the ladder has come.
struct LadderProgress {
  std::int64_t tasks = 0, done = 0;  ///< those whose kernels are worth timing, and how many of them are timed
  std::int64_t kernels = 0;          ///< built, each once
  std::int64_t times = 0, failed = 0;
  double seconds = 0;
  bool out_of_time = false, interrupted = false;
  std::string task;  ///< the one that was timed last
};

struct LadderOptions {
  SpaceOptions schedules;
  std::uint64_t seed = 0;  ///< of the sizes at which answers are compared
  std::size_t most = 12;   ///< kernels of a task by records
  /// The second of the clock from which on no task is begun that would take as long as the longest before it, and nothing is timed any
  /// more; infinity: no limit.
  double deadline = std::numeric_limits<double>::infinity();
  std::function<double()> clock;      ///< seconds, never backwards; empty: the machine's
  std::function<bool()> interrupted;  ///< asked between tasks; may be empty
  std::function<void(const LadderProgress&)> on_task;
};

/// Times kernels for ranges, as a library for ranges runs them. Of each task the schedules that records know of its sizes, and those of
/// LadderTask::always, become kernels for all its sizes, however they pack its constants: which packing a library has is chosen by these
/// times. Equal kernels are timed once. Each is built once, its answers are compared at both ends and
/// at seeded sizes between, and it is timed at all points, without builds between them. Every outcome is a line of the file (never a time
/// of one size). The tasks that take most of the requests' time go first; those below 0.2% of it are left to estimates. What tasks take
/// of which there is no record is a guess by work and bytes, by what the others take for theirs; beside others those that have nothing in
/// `always` are left to estimates. What the file has is not measured again. Errors: a line that cannot be written.
Result<LadderProgress> climb_ladder(const std::vector<LadderTask>&, const Target&, Measurer&, RecordFile&,
                                    const LadderOptions&);

/// Times kernels for ranges of a task at all its points, once more: [schedule][point]. Nothing is written down.
std::vector<std::vector<Outcome>> time_again(const LadderTask&, const std::vector<SizedSchedule>&, const Target&,
                                             Measurer&, std::uint64_t seed);

}  // namespace whet
