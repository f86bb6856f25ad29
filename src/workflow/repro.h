#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/local/zygote.h"
#include "tuner/reproduction.h"
#include "workflow/tuning.h"

namespace whet {

/// Which records of a file are measured again, and how.
struct ReproSettings {
  TuneSettings measuring;  ///< the model, the devices and how they measure; `records` is the file
  int best = 3;            ///< schedules of each task
  double seconds = 0;      ///< from `start` on; no task but the first begins later. 0: no limit
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// The tasks of a file that were measured again.
struct Repro {
  std::vector<RemeasuredTask> tasks;         ///< in the order of the network's
  std::int64_t without_records = 0;          ///< tasks of the network
  std::vector<std::string> left_out;         ///< tasks for which there was no time
  double left_out_share = 0;                 ///< of the tasks' time, as recorded
  std::vector<std::string> left_out_ranges;  ///< tasks for whose kernels for ranges there was none
  double left_out_ranges_share = 0;          ///< of these kernels' time
  bool interrupted = false;                  ///< by the user; the task that was being measured is not there
  double seconds = 0;                        ///< that it took
};

/// Sees a run while it goes on.
class ReproListener {
 public:
  virtual ~ReproListener() = default;
  virtual void started(const Prepared&, std::size_t /*tasks*/) {}
  /// A model with ranges is read at its sizes, which begins when its tasks are measured.
  virtual void reading(std::int64_t /*read*/, std::int64_t /*all*/) {}
  /// The `done`th task, the heaviest first.
  virtual void task(const RemeasuredTask&, std::size_t /*done*/, std::size_t /*tasks*/) {}
};

/// Measures the best schedules of each task of the network again, as a compile with these records would take them (its plan of
/// layouts and covers too), alternately with the default one; the answers of the best are checked. The heaviest tasks go first.
/// Errors: the file cannot be read; it has no record of the network's tasks that can run on this target.
Result<Repro> repro_records(const ReproSettings&, Workplace&, Zygote&, ReproListener&);

}  // namespace whet
