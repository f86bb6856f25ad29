#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "alternatives/alternatives.h"
#include "records/record_base.h"
#include "records/records.h"
#include "target/target.h"

namespace whet {

/// What the records of a network teach.
struct PackedTasks {
  std::vector<BaseTask> tasks;  ///< their entries are of the origin 0
  std::int64_t without_default =
      0;  ///< tasks that were measured, but not by their default schedule: nothing tells what they gained
  std::int64_t changed = 0;  ///< good schedules that are none of today's space: an older whet made them
};

/// Those of a run's records of a task whose times teach, the fastest first: all of one cache mode, that of the network before others, and
/// of the placement of the processors at hand.
std::vector<const Record*> comparable(const Records& run, const Task&, const Target&);

/// The best schedules of each task that was measured on exactly this target by today's code generator, at most 4: the best, the second
/// best and the best of each other sketch, as far as they take at most 1.3 times as long as the best. A task whose default
/// schedule is the best has an entry of gain 1.
/// What was measured while the device was too hot, what ended early and what an emulator ran is left out.
///   over_parts  BaseTask::over_parts of chains, by task; other chains are left out, since nothing tells what they gain
///   runs        the records of one run each: a schedule's gain is the mean (of logarithms) over the runs, each with its own default
PackedTasks pack(const Alternatives&, const std::map<int, double>& over_parts, std::span<const Records* const> runs,
                 const Target&);

}  // namespace whet
