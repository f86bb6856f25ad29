#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/spread.h"
#include "device/device.h"

namespace whet {

/// Two models timed alternately: seconds of an inference of each, in the median of its best burst, because what disturbs a
/// machine lasts longer than a burst.
struct ModelComparison {
  double usual = 0, other = 0;
  double ratio() const { return other / usual; }
};

/// Comparisons of two compiled models. Each opens both in a new process, since where a process has its memory decides by some
/// percent, and the models change their order.
struct ModelVerdict {
  ModelComparison middle;  ///< the one with the ratio in the middle
  std::int64_t comparisons = 0;
  std::int64_t slower = 0;  ///< in how many of them `other` was no faster
  bool faster = false;
  /// What `usual` alone took in them: where the most is far above the least, the machine decided (base/spread.h).
  double least_usual = 0, most_usual = 0;
  bool noisy() const { return is_far_above(most_usual, least_usual); }
};

/// Whether `other` takes less than the part `faster` of the time of `usual` in the median of several comparisons, of which it may
/// be no faster in one. They end as soon as that is decided. Where they are noisy, it is not faster.
/// Errors: the device's; times that make no sense.
Result<ModelVerdict> compare_in_new_processes(Device&, const ModelLibrary& usual, const ModelLibrary& other,
                                              const ModelRun&, double faster);

}  // namespace whet
