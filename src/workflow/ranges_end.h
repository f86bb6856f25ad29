#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/device_measurer.h"
#include "ranges/ranges.h"
#include "trial/ranged.h"
#include "tuner/ladder.h"
#include "workflow/lengths.h"
#include "workflow/range_choice.h"
#include "workflow/sizes_truth.h"
#include "workflow/tuning.h"

namespace whet {

/// What a run of the tuner for ranges of sizes does after its tasks. Kernels for ranges are timed at sizes (tuner/ladder.h), those that an
/// untuned library has among them. Then libraries of the whole network are timed alternately (workflow/sizes_truth.h). All is written
/// to the record file. One thread; the arguments live longer.
class RangesEnd {
 public:
  RangesEnd(const TuneSettings&, const Prepared&, TuneListener&);

  /// About the seconds that it takes; 0: the model has no ranges, or the target no kernels for them. Never more than two fifths of the run.
  double needs() const;
  /// What cannot be timed, or does not fit any more, is told with its name.
  void run(DeviceMeasurer&, const Devices&, RecordFile&, Tuned&);

  /// The model has ranges, and the target kernels for them whose times mean something.
  bool is_wanted() const;
  /// The kernels alone, for about these seconds from when the network has been read at all sizes and its untuned kernels are chosen. Errors: it cannot be read; a line that
  /// cannot be written.
  Result<LadderProgress> time_kernels(DeviceMeasurer&, RecordFile&, double seconds);
  /// The network at all sizes, as a library for the ranges has it, once it has been read.
  const Family& family() const { return family_; }

 private:
  bool compares_network() const;
  double ladder_seconds() const;
  Status read_network();
  Result<std::vector<LadderTask>> tasks_to_time() const;
  Result<LadderProgress> time_tasks(const std::vector<LadderTask>&, DeviceMeasurer&, RecordFile&, double seconds);
  Status climb(DeviceMeasurer&, RecordFile&, Tuned&);
  Status time_network(Device&, RecordFile&, Tuned&);
  Result<FusedGraph> read(const SizeValues&) const;
  Result<ModelRun> run_at(const SizeValues&) const;
  Status compile_ranges(const Records&, const std::vector<TimedAtSizes>* points, const std::string& path) const;
  SizedLibraries libraries(const RecordFile&) const;
  CompileOptions compiling() const;
  bool interrupted() const { return settings_.where.interrupted && settings_.where.interrupted(); }
  double left() const;
  void leave_out(Tuned&, const std::string& phase, double needed, const std::string& consequence) const;

  const TuneSettings& settings_;
  const Prepared& prepared_;
  TuneListener& listener_;
  std::optional<SizedModel> model_;
  Family family_;
  std::vector<RequestCount> requests_;
  UntunedRanges untuned_;
};

}  // namespace whet
