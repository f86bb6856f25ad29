#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/spread.h"
#include "device/device.h"

namespace whet {

/// Seconds of an inference of two models that were timed alternately: the median of each one's best burst. Disturbances of a
/// machine last longer than a burst.
struct ModelComparison {
  double usual = 0, other = 0;
  double ratio() const { return other / usual; }
};

/// Comparisons of two compiled models. Each comparison opens both in a new process, because the addresses of a process's memory
/// change times by some percent. The order of the models changes from one comparison to the next.
struct ModelVerdict {
  ModelComparison middle;  ///< the one with the ratio in the middle
  std::int64_t comparisons = 0;
  std::int64_t slower = 0;  ///< comparisons in which `other` was not faster
  bool faster = false;
  /// The range of the times of `usual` in them. If the most is far above the least, the machine was disturbed (base/spread.h).
  double least_usual = 0, most_usual = 0;
  bool noisy() const { return is_far_above(most_usual, least_usual); }
};

/// Whether the time of `other` is below `faster` times that of `usual` in the median of several comparisons, and `other` is slower (by
/// more than `faster` permits) in one of them at most. The comparisons end as soon as the verdict is decided. Noisy comparisons give "not faster".
/// Errors: the device's; times that make no sense.
Result<ModelVerdict> compare_in_new_processes(Device&, const ModelLibrary& usual, const ModelLibrary& other,
                                              const ModelRun&, double faster);

}  // namespace whet
