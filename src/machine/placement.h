#pragma once

#include <string_view>

namespace whet {

/// How far apart two processors are just now. Virtual ones move between core complexes, and two-thread latencies of
/// small networks move with them, so figures are printed with it.
struct CorePlacement {
  enum class Kind { near, between, far, disturbed };
  double round_trip_ns = 0;  ///< median of bursts: a line goes there and back
  Kind kind = Kind::near;
};

/// near: up to 200 ns; far: 350 to 700; disturbed: above, something else is running; else between.
CorePlacement::Kind placement_kind(double round_trip_ns);
std::string_view name_of(CorePlacement::Kind);

/// Bounces a cache line between two processors; about 20 ms.
CorePlacement measure_placement(int first_cpu, int second_cpu);

}  // namespace whet
