#include "measure/placement_watch.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace whet {
namespace {

/// Of the time, that looks may take.
constexpr double kShareOfLooks = 0.01;
/// Probes by which a longer round trip is believed.
constexpr int kProbes = 3;

}  // namespace

PlacementWatch::PlacementWatch(std::function<double()> probe, std::function<double()> clock)
    : probe_(std::move(probe)), clock_(std::move(clock)), next_(-std::numeric_limits<double>::infinity()) {}

ProcessorPlacement PlacementWatch::now() {
  if (!probe_) return {};
  const double begin = clock_();
  if (begin < next_) return last_;
  look();
  const double end = clock_();
  next_ = end + (end - begin) / kShareOfLooks;
  return last_;
}

/// What disturbs a probe makes it longer, never shorter: that the processors are farther apart has to be seen several times.
void PlacementWatch::look() {
  ProcessorPlacement seen{probe_()};
  const auto is_doubtful = [&] {
    return !seen.is_known() || !last_.is_known() || (differ(seen, last_) && seen.round_trip_ns > last_.round_trip_ns);
  };
  for (int probes = 1; probes < kProbes && is_doubtful(); ++probes) {
    const double again = probe_();
    if (again > 0) seen.round_trip_ns = seen.is_known() ? std::min(seen.round_trip_ns, again) : again;
  }
  if (!seen.is_known()) return;
  // The shortest of a placement is the least disturbed one. Else two that are disturbed more and more would pass for a move.
  if (last_.is_known() && !differ(seen, last_)) seen.round_trip_ns = std::min(seen.round_trip_ns, last_.round_trip_ns);
  last_ = seen;
}

}  // namespace whet
