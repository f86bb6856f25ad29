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
  double seconds = 0;  ///< the measured or guessed time, plus `excess`
  double bound = 0;    ///< the least time that is hoped for, plus `excess`: the measured one, or by PriceOptions::hope
  double excess = 0;   ///< this kernel's part of the time by which the network exceeds the sum of its kernels
  /// The time of the kernel alone.
  double alone() const { return seconds - excess; }
};

struct PriceOptions {
  SpaceOptions schedules;          ///< only records that these permit count
  std::string cache;               ///< and only those of this cache mode; "": of any
  MachineRates rates;              ///< zeros: the bounds are zeros
  std::int64_t network_bytes = 0;  ///< as limits_of has it
  /// The time by which the network exceeds the sum of its kernels. Each price has a part of it. A kernel that is timed alone has
  /// its code and its activations in the caches; in the network it has not.
  NetworkExcess excess = {};
  bool guess = true;  ///< false: an alternative without a measurement costs 0, and the caller has to forbid it
  /// The least time that is hoped for a group on other forms, as a part of its usual kernel's: it computes the same.
  double hope = 0.9;
  /// The same on activations that are stored in fewer bits: processors multiply twice as many numbers then, except in depthwise
  /// convolutions, which widen them, and in kernels that multiply f32 all the same.
  double hope_of_lowered = 0.45, hope_of_lowered_depthwise = 0.75;
  /// The same of products of bytes, of which processors multiply four times as many.
  double hope_of_bytes = 0.25;
  /// The same where a unit of tiles multiplies them. Were no more hoped of bf16 there than of i16, which errs by less, none would be measured.
  double hope_of_bf16_by_tiles = 0.2, hope_of_bytes_by_tiles = 0.15;
  /// The same by the name of groups of one kind on the same forms (`hope_name`), where such groups were measured.
  std::map<std::string, double> hope_of = {};
};

/// Groups whose gains are alike: "pool nchw16c", "convolution nhwc -> nchw16c", and "convolution u8" of all that multiply bytes, whatever they
/// write. Convolutions of one pixel are products: their gains do not predict those of other convolutions.
std::string hope_name(const Alternative&);

/// The bytes of activations that a kernel reads and writes.
std::int64_t activation_bytes(const Task&);

/// The price of each alternative. For one that nobody has measured:
///   bound    the roofline of the task; of a group on other forms at least `hope`
///            of a lowered one whose group has another one measured that multiplies the same type, 1.01 of that at least
///   seconds  the time by an older code generator; else, of a group on other forms, the time of its usual kernel; else the
///            analytic estimate of the default schedule, times the median of measured / estimated over the measured tasks. Never
///            below the bound
std::vector<Price> prices_of(const Alternatives&, const Records&, const Target&, const PriceOptions&);

}  // namespace whet
