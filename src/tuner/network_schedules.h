#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "records/record_file.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// The text of the schedule that a source chooses for a task; "" where it has none.
std::string chosen_steps(const ScheduleSource&, const Task&);
/// Both choose the same schedule for each of the tasks: compiled, they are one program.
bool choose_the_same(const std::vector<Task>&, const ScheduleSource&, const ScheduleSource&);
/// The same source, which is asked once for what similar tasks teach about these.
ScheduleSource asked_once(ScheduleSource, const std::vector<Task>&);

/// A task's best record and the one that may replace it.
struct CloseSecond {
  const Task* task = nullptr;
  const Record *best = nullptr, *second = nullptr;
  double share = 0;  ///< of an inference [s]
};

/// The schedules that a tuned network may run by beside the best ones of its tasks, and how these become the best.
class NetworkSchedules {
 public:
  /// All outlive it.
  NetworkSchedules(const std::vector<Task>& tasks, const Target& target, RecordFile& file, const SpaceOptions& options)
      : tasks_(tasks), target_(target), file_(file), options_(options) {}

  /// The heaviest tasks, at most `most`, that have a second candidate close to the best.
  std::vector<CloseSecond> close_seconds(std::size_t most) const;
  /// Of one task the second candidate.
  static ScheduleSource with_second(const ScheduleSource& best, const CloseSecond&);
  /// The default schedules of tasks that gained little.
  ScheduleSource where_it_gains(const ScheduleSource& best) const;

  /// The sum of weight x recorded time; 0 where a schedule was not measured.
  double predicted(const ScheduleSource&) const;
  /// Whether records rank what this source chooses first once they are asked to: all of it that is not the best was measured as that was,
  /// as the same part and in the same placement.
  bool can_rank_first(const ScheduleSource&) const;
  /// From now on the records rank what this source chooses first, where it was measured so. Gives the tasks that this changes.
  Result<std::vector<std::string>> rank_first(const ScheduleSource&);

 private:
  bool permits_record(const Record& record) const { return permits(options_, record.numerics); }
  const Record* best_record(const Task&) const;
  const Record* record_of(const Task&, const std::string& steps) const;
  /// The record of a schedule of the task that may take the place of `best`; null where there is none.
  const Record* rival_of(const Record& best, const Task&, const std::string& steps) const;

  const std::vector<Task>& tasks_;
  const Target& target_;
  RecordFile& file_;
  const SpaceOptions options_;
};

}  // namespace whet
