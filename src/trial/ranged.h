#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/outcome.h"

namespace whet {

/// A kernel that takes its sizes when it runs, timed at one of them. It is never taken for a time of the task of that size alone.
/// `record` has the task at the size, the outcome and the schedule, which is that of the task at `from` and is made for all sizes
/// (schedule/steps_for_sizes.h).
struct RangedRecord {
  Record record;      ///< its version is 4
  std::string range;  ///< names the task for all its sizes (range_id), hexadecimal
  std::string sizes;  ///< of the kernel, for people: "n=2..512"
  std::vector<std::int64_t> at, from;
};

/// One inference of a network at some sizes, by libraries that were timed alternately [s]; 0: not timed.
struct TimedAtSizes {
  std::vector<std::int64_t> at;
  double share = 0;    ///< of the time of all requests, by the library for ranges: of those with exactly these sizes
  double untuned = 0;  ///< a library for the ranges that no record made
  double ranged = 0;   ///< the library for the ranges
  double exact = 0;    ///< a library for these sizes alone
  bool hot = false;    ///< a library for the ranges has kernels for these sizes alone
  /// A library for the ranges has untuned kernels there: by those of the records an inference took longer. `ranged` is with them.
  bool keeps_untuned = false;
  friend bool operator==(const TimedAtSizes&, const TimedAtSizes&) = default;
};

/// What a network takes at some of its sizes. A line of a record file.
struct NetworkAtSizes {
  int version = 4;
  std::string graph;   ///< hexadecimal hash of the fused graph's text at the largest sizes
  std::string name;    ///< the network's, for people
  std::string ranges;  ///< its sizes: "n=1..512"
  std::string target;  ///< text form
  std::vector<TimedAtSizes> points;
  std::string whet, at;  ///< version of the program, time in UTC (ISO 8601)
  friend bool operator==(const NetworkAtSizes&, const NetworkAtSizes&) = default;
};

}  // namespace whet
