#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "passes/fuse.h"
#include "records/records.h"
#include "report/data.h"
#include "task/task.h"
#include "tensor/tensor.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/tuning.h"

namespace whet {

/// A network and a machine, of which a report is written.
struct ReportSubject {
  std::string model;  ///< as the user named it
  const FusedGraph* fused = nullptr;
  const std::vector<Task>* tasks = nullptr;
  TargetOnCores place;
  RoundingOptions rounding;
  std::string records;         ///< the file's name
  std::string where;           ///< the machine, for people; "": this one
  std::int64_t footprint = 0;  ///< bytes that an inference touches; 0: those of the network
};

/// What the records know of the network, with the limits that `rates` set.
///   layouts  compare plans, too, which takes a moment
Result<ReportData> describe_for_report(const ReportSubject&, const Records&, const MachineRates&, bool layouts);
/// Compiles the network with default schedules and with the best records, times both alternately on this machine, and
/// profiles the tuned one. Fills `network`, unless `data` has it, and `profile`.
Status run_for_report(const ReportSubject&, const Records&, std::vector<Tensor> inputs, ReportData& data);
/// Writes the page beside `path`, then renames it, so that a reader never finds half of one.
Status write_report(ReportData, const std::string& path);

/// The page of a run of the tuner, written anew between rounds and at the end.
class RunReport : public TuneListener {
 public:
  /// `settings` outlive it.
  RunReport(const TuneSettings& settings, std::string path) : settings_(settings), path_(std::move(path)) {}

  void started(const Prepared&, const RecordFile&, const MachineRates&) override;
  /// Writes what is there, unless that was done less than ten seconds ago, or failed.
  void round(const TuneProgress&) override;
  /// With the network's timeline where this machine runs it.
  void finished(const Tuned&) override;

 private:
  Result<ReportData> last_page(const Tuned&) const;
  void write(Result<ReportData>);

  const TuneSettings& settings_;
  std::string path_;  ///< "" where writing failed
  ReportSubject subject_;
  MachineRates rates_;
  const Prepared* prepared_ = nullptr;
  const RecordFile* file_ = nullptr;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace whet
