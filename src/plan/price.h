#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alternatives/alternatives.h"
#include "records/records.h"
#include "space/space.h"
#include "target/machine_rates.h"

namespace whet {

/// Where the price of a kernel comes from.
enum class PriceKind : std::uint8_t {
  free,       ///< no kernel runs
  measured,   ///< the best record of exactly this target, by today's code generator
  estimated,  ///< nobody has measured the task
};

/// What one run of an alternative costs.
struct Price {
  PriceKind kind = PriceKind::free;
  double seconds = 0;  ///< measured, or a guess, and `excess`
  double bound = 0;    ///< it is hoped to take no less: the measured time, or see `hope`; and `excess`
  double excess = 0;   ///< what the network takes longer, as far as it is laid on this kernel
  /// Of the kernel timed alone.
  double alone() const { return seconds - excess; }
};

struct PriceOptions {
  SpaceOptions schedules;          ///< only records that these permit count
  std::string cache;               ///< and only those of this cache mode; "": of any
  MachineRates rates;              ///< zeros: the bounds are zeros
  std::int64_t network_bytes = 0;  ///< as limits_of has it
  /// What the network takes longer than its kernels. It is part of each price. A kernel that is timed alone finds its code and
  /// its activations in the caches.
  NetworkExcess excess = {};
  bool guess = true;  ///< false: what nobody has measured costs nothing, and has to be left out
  /// A group on other forms is not hoped to take less than this part of its usual kernel: it computes the same.
  double hope = 0.9;
  /// The same for groups of one kind on the same forms (`hope_name`), where more is known of them.
  std::map<std::string, double> hope_of = {};
};

/// Groups whose gains are alike: "pool nchw16c", "convolution nhwc -> nchw16c". Convolutions of one pixel are products:
/// their gains do not predict those of other convolutions.
std::string hope_name(const Alternative&);

/// The bytes of activations that a kernel reads and writes.
std::int64_t activation_bytes(const Task&);

/// The price of each alternative. Bounds of what nobody has measured: the roofline of the task, and of a group on other forms
/// `hope`. Guesses, which are no less: what an older code generator took; of a group on other forms the time of its usual
/// kernel; otherwise the analytic estimate of the task's default schedule, by the factor that the estimates of the measured tasks are off in the median.
std::vector<Price> prices_of(const Alternatives&, const Records&, const Target&, const PriceOptions&);

}  // namespace whet
