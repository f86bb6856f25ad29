#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whet {

/// Where the processors of a measurement lay. A host moves the virtual processors of a machine: they share a cache in one minute (near)
/// and none in another (far), and kernels that read beyond their own caches change their speed with it. So a time belongs to a placement.
struct ProcessorPlacement {
  /// A cache line between the first two of them, there and back [ns]; 0: not known, as of one processor.
  double round_trip_ns = 0;
  bool is_known() const { return round_trip_ns > 0; }
  friend bool operator==(const ProcessorPlacement&, const ProcessorPlacement&) = default;
};

/// True of two placements if one round trip is at least twice the other; a placement that is not known differs from none. The two that
/// are known of one machine took 78 and 330 ns; a machine whose processors stay repeats its figure within some percent.
bool differ(const ProcessorPlacement&, const ProcessorPlacement&);

/// "78 ns there and back"; "not known".
std::string to_text(const ProcessorPlacement&);

/// The placements of a run, each once, in the order in which they came first, and the seconds that each had.
class PlacementTimes {
 public:
  struct Part {
    ProcessorPlacement placement;
    double seconds = 0;
  };
  /// From `now` [s] on the processors lie so; one that is not known changes nothing. The clock never goes backwards.
  void see(const ProcessorPlacement&, double now);

  const std::vector<Part>& parts() const { return parts_; }
  /// The processors moved.
  bool several() const { return parts_.size() > 1; }
  /// Where they lie now; not known before one was seen.
  ProcessorPlacement at_hand() const {
    return last_ < 0 ? ProcessorPlacement() : parts_[static_cast<std::size_t>(last_)].placement;
  }
  /// The place of `placement` in `parts`; -1: it was not seen.
  int find(const ProcessorPlacement&) const;
  /// The part of the time that it had, 0 to 1.
  double share(const Part&) const;

 private:
  std::vector<Part> parts_;
  int last_ = -1;  ///< the place of the one at hand
  double since_ = 0;
};

/// "near (78 ns there and back) 41% of the time, far (330 ns there and back) 59%"; "" of none. The nearest comes first.
std::string to_text(const PlacementTimes&);

}  // namespace whet
