#pragma once

#include <vector>

#include "records/digest.h"
#include "records/record_file.h"
#include "tuner/task_tuning.h"
#include "tuner/tuner.h"

namespace whet {

/// What a run writes down: records, before anything learns from them, and the seconds that its phases take.
class RunLog {
 public:
  RunLog(RecordFile& file, const TuneOptions& options)
      : file_(file), options_(options), placements_(options.placements) {}

  const Records& records() const { return file_.records(); }
  /// Appends a record of the trial; what is known of the task's best time follows.
  Status remember(TaskTuning&, const Trial&);
  /// Appends a record that is no trial's: of a schedule that was measured and ranks anew.
  Status append(const Record& record) { return file_.append(record); }
  Status sync() { return file_.sync(); }
  /// Takes in where the processors lay while it ran.
  void see(const Outcome& outcome) {
    if (outcome.placement.is_known()) placements_.see(outcome.placement, now());
  }
  const PlacementTimes& placements() const { return placements_; }
  /// Of this run, most frequent first.
  std::vector<FailureGroup> failures() const { return whet::failures(failed_); }

  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  /// Seconds, by the run's clock.
  double now() const;

  TunePhases phases;
  /// Adds the seconds that it lives to a phase.
  class Timed {
   public:
    Timed(const RunLog& log, double& phase) : log_(log), phase_(phase), start_(log.now()) {}
    ~Timed() { phase_ += log_.now() - start_; }
    Timed(const Timed&) = delete;

   private:
    const RunLog& log_;
    double& phase_;
    double start_;
  };

 private:
  RecordFile& file_;
  const TuneOptions& options_;
  Records failed_;
  PlacementTimes placements_;
};

}  // namespace whet
