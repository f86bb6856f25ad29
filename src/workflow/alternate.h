#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "device/cpu/opened_model.h"

namespace whet {

/// Times of two models, measured alternately: one each a pair [s].
struct AlternateTimes {
  std::vector<double> before, after;
};

/// Runs bursts of inferences of two models alternately, which has a slow drift of the machine's speed in both. The order changes from pair
/// to pair. A time is the median of its burst.
///   seconds      for all of it; at least three pairs
///   interrupted  asked between bursts; may be empty
Result<AlternateTimes> time_alternately(OpenedModel& before, OpenedModel& after, double seconds,
                                        const std::function<bool()>& interrupted);

}  // namespace whet
