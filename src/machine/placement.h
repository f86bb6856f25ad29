#pragma once

#include <string_view>

namespace whet {

/// The present distance of two processors. Virtual processors move between core complexes, and two-thread latencies of
/// small networks change with it, so figures are printed with the placement.
struct CorePlacement {
  enum class Kind { near, between, far, disturbed };
  double round_trip_ns = 0;  ///< of a cache line, there and back; the median of bursts
  Kind kind = Kind::near;
};

/// near: up to 200 ns; far: 350 to 700; disturbed (other programs run): above; between: the rest.
CorePlacement::Kind placement_kind(double round_trip_ns);
std::string_view name_of(CorePlacement::Kind);

/// Bounces a cache line between two processors; about 20 ms.
CorePlacement measure_placement(int first_cpu, int second_cpu);

/// The same in 1,400 round trips, for a look now and then: the mean of the shortest of seven bursts [ns], since what disturbs a burst
/// makes it longer. 0: all were `disturbed`.
double probe_round_trip(int first_cpu, int second_cpu);

}  // namespace whet
