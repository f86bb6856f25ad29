#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "trial/ranged.h"
#include "workflow/lengths.h"
#include "workflow/options.h"

namespace whet {

/// A network for ranges, as it is compiled and run at its sizes.
struct SizedLibraries {
  /// The library for the ranges by the records, with untuned kernels where the points keep these.
  std::function<Status(const std::vector<TimedAtSizes>& points, const std::string& path)> tuned;
  /// The same without records.
  std::function<Status(const std::string& path)> untuned;
  /// A library for these sizes alone, by the records.
  std::function<Status(const SizeValues&, const std::string& path)> alone;
  /// How it runs at sizes; the bursts are the caller's.
  std::function<Result<ModelRun>(const SizeValues&)> run_at;
};

struct SizesTruthOptions {
  std::vector<std::string> names;      ///< of the sizes, for people
  std::vector<SizeValues> at;          ///< the telling sizes
  std::vector<RequestCount> requests;  ///< by which sizes are hot
  bool hot = true;                     ///< sizes may have kernels of their own
  std::string folder;                  ///< for the libraries
  std::function<double()> left;        ///< seconds until all has ended; empty: no limit
  std::function<bool()> interrupted;   ///< may be empty
  Tell tell;
};

/// What the network takes at its sizes.
struct SizesTruth {
  std::vector<TimedAtSizes> points;  ///< ascending; none: nothing was timed
  double needed = 0;                 ///< seconds that the first comparison takes, where fewer were left; else 0
  Status failed = ok_status();       ///< what ended it early; the points before it are right
};

/// Times libraries of a network alternately at telling sizes: for the ranges by the records, and for the ranges without records. Where the
/// untuned one is faster by 1%, in new processes too as far as there is time, its kernels are kept at these sizes, and the library with
/// them is timed again; where it is still slower at some size, untuned kernels are kept at all. So a library by the records is nowhere
/// slower than without them, as far as it was timed. Then libraries for one size alone are timed at the heaviest sizes; one that has a
/// tenth of the requests' time is hot where its own library is 3% faster.
/// The models run on the device; one thread.
SizesTruth settle_at_sizes(const SizedLibraries&, Device&, const SizesTruthOptions&);

/// Parts of all requests, the smallest sizes first: the size of the request at a tenth, at half and at nine tenths of them, and the largest
/// that the ranges have. Ascending, each once.
std::vector<SizeValues> telling_sizes(const std::vector<RequestCount>&, const std::vector<WantedSize>&);

/// The numbers of at most three requests whose sizes take most of the time, the heaviest first: of those that have less than a tenth of
/// it none that is nearly as large as another, as requests of many lengths are.
///   shares  as time_shares has them
std::vector<std::size_t> heaviest_sizes(const std::vector<RequestCount>&, const std::vector<double>& shares);

/// The part of the time of all requests that those of each size take, where an inference takes these seconds at some sizes and time grows
/// evenly with the product of the sizes between them. One a request.
///   timed  the seconds at sizes, at least at one
std::vector<double> time_shares(const std::vector<RequestCount>&,
                                const std::vector<std::pair<SizeValues, double>>& timed);

/// What a request takes in the mean, with times between these sizes as time_shares has them [s].
///   timed  the seconds at sizes, at least at one
double mean_seconds(const std::vector<RequestCount>&, const std::vector<std::pair<SizeValues, double>>& timed);
/// The same of a network whose libraries were timed; requests of exactly the sizes that have kernels of their own take
/// the time of these, those between none of it. Nothing where some of the
/// telling sizes were not timed by both libraries.
std::optional<RequestSeconds> request_seconds(const std::vector<RequestCount>&, const std::vector<TimedAtSizes>&,
                                              const std::vector<SizeValues>& telling);

/// About the seconds of the comparisons at `sizes` telling sizes, where a library takes `compile_seconds`.
double settling_seconds(double sizes, double compile_seconds);

}  // namespace whet
