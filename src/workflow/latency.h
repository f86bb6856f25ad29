#pragma once

#include <vector>

#include "base/result.h"
#include "base/spread.h"
#include "device/cpu/opened_model.h"

namespace whet {

/// How an opened model is timed.
struct LatencyOptions {
  int runs = 0;                      ///< 0: as many as fit into `seconds`
  double seconds = 1, warmup = 0.2;  ///< [s]
  bool on_device = false;            ///< of a GPU: also inferences one behind the other
};

/// Times of inferences.
struct Latency {
  std::vector<double> sorted;  ///< seconds, ascending; at least one
  double mean = 0, deviation = 0;
  double back_to_back = 0;  ///< of an inference behind the one before without a wait between them; 0: not measured
  double stolen = 0;        ///< part of the processors' time that other machines of the host had meanwhile

  ///   share  0 to 1: 0.5 is the median
  double percentile(double share) const;
  /// The median is far above the fastest: other programs ran (base/spread.h).
  bool disturbed() const { return is_far_above(percentile(0.5), sorted.front()); }
};

/// Warms the model up, which has its inputs, and times inferences of it.
Result<Latency> time_latency(OpenedModel&, const LatencyOptions&);

}  // namespace whet
