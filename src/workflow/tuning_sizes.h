#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/size.h"
#include "workflow/lengths.h"
#include "workflow/sizes.h"

namespace whet {

/// `--tuning-sizes`, `--lengths`, `--hot-sizes`: which sizes count, and how much.
struct TuningSizeOptions {
  std::vector<std::string> listed;  ///< "16,64,256", "2x128"
  std::string lengths;              ///< a file of requests; "": none
  std::string hot = "on";           ///< "off": no size has kernels of its own beside those for ranges

  bool empty() const { return listed.empty() && lengths.empty(); }
};

/// Sizes at which kernels are tuned, and for how many requests they stand.
struct TuningSize {
  SizeValues at;
  std::int64_t requests = 1;
  friend bool operator==(const TuningSize&, const TuningSize&) = default;
};

/// Requests that nobody has counted: uniform in the logarithm of each size.
std::vector<RequestCount> even_requests(const std::vector<WantedSize>&);

/// At most four sizes that stand for these requests, where there are more: half way between as many requests and as much time for
/// each, as though a request took time in proportion to the product of its sizes.
std::vector<SizeValues> typical_sizes(std::vector<RequestCount>);

/// How far apart sizes are: the distance of their logarithms, summed over the sizes.
double distance_of(const SizeValues&, const SizeValues&);

/// How many requests each of these sizes stands for: those that are nearest to it, by the logarithm, as many as take their time at this
/// size. 100 in all at most, and each has at least one.
std::vector<TuningSize> shared_out(const std::vector<RequestCount>&, const std::vector<SizeValues>&);

/// The sizes at which a model is tuned:
///   --tuning-sizes       these
///   --lengths            those that are typical of the requests
///   neither              of a range the powers of two that are typical of even requests, all values of a list
/// Ascending. Errors: a value that no size has; of read_lengths; more than 64.
Result<std::vector<TuningSize>> tuning_sizes(const std::vector<WantedSize>&, const TuningSizeOptions&);

/// The requests of --lengths, or even ones.
Result<std::vector<RequestCount>> requests_of(const std::vector<WantedSize>&, const TuningSizeOptions&);

/// The sizes at which kernels for ranges are timed, ascending, each with the requests that it stands for: those at which a model is
/// tuned, and of ranges eight that are typical of the requests, and the largest.
/// Errors: of tuning_sizes.
Result<std::vector<TuningSize>> ladder_sizes(const std::vector<WantedSize>&, const TuningSizeOptions&);

/// "3 requests: 1 at n=16, 1 at n=64, 1 at n=256"
std::string requests_text(const std::vector<WantedSize>&, const std::vector<TuningSize>&);

}  // namespace whet
