#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/device_measurer.h"
#include "ranges/ranges.h"
#include "trial/ranged.h"
#include "tuner/ladder.h"
#include "workflow/lengths.h"
#include "workflow/tuning.h"

namespace whet {

/// Parts of all requests, the smallest sizes first: the size of the request at a tenth, at half and at nine tenths of them, and the largest
/// that the ranges have. Ascending, each once.
std::vector<SizeValues> telling_sizes(const std::vector<RequestCount>&, const std::vector<WantedSize>&);

/// The part of the time of all requests that those of each size take, where an inference takes these seconds at some sizes and time grows
/// evenly with the product of the sizes between them. One a request.
///   timed  the seconds at sizes, at least at one
std::vector<double> time_shares(const std::vector<RequestCount>&,
                                const std::vector<std::pair<SizeValues, double>>& timed);

/// What a run of the tuner for ranges of sizes does after its tasks. Kernels for ranges are timed at sizes (tuner/ladder.h). Then libraries
/// of the whole network are timed alternately at telling sizes: for the ranges by the records, for the ranges without records, and for one
/// size alone where that has a tenth of the requests' time. Such a size gets kernels of its own where these are 3% faster. All is written
/// to the record file. One thread; the arguments live longer.
class RangesEnd {
 public:
  RangesEnd(const TuneSettings&, const Prepared&, TuneListener&);

  /// About the seconds that it takes; 0: the model has no ranges, or the target no kernels for them. Never more than two fifths of the run.
  double needs() const;
  /// What cannot be timed, or does not fit any more, is told with its name.
  void run(DeviceMeasurer&, const Devices&, RecordFile&, Tuned&);

 private:
  struct Libraries;

  bool is_wanted() const;
  double ladder_seconds() const;
  Status read_network(Tuned&);
  Status climb(DeviceMeasurer&, RecordFile&, Tuned&);
  Status time_network(Device&, RecordFile&, Tuned&);
  Result<FusedGraph> read(const SizeValues&) const;
  Result<ModelRun> run_at(const SizeValues&, double burst_seconds, int bursts) const;
  Result<std::vector<double>> seconds_of(Device&, const std::vector<std::string>& libraries, const SizeValues&) const;
  Status try_exact(Device&, RecordFile&, Libraries&, std::vector<TimedAtSizes>& points);
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
  double reading_ = 0;    ///< seconds of reading the network at all sizes
  double compiling_ = 0;  ///< seconds of the last library for ranges
};

}  // namespace whet
