#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/protocol/messages.h"
#include "fleet/messages.h"

namespace whet {

/// What a unit of a fleet did for this tuner.
struct UnitShare {
  std::string unit;
  int jobs = 0, candidates = 0, failed = 0;
  int losses = 0;     ///< jobs that it was lost over
  double factor = 0;  ///< its times of the same kernels against all units': 1.1 is 10% slower; 0: unknown
};

/// Keeps count of the answers of a fleet's units. A champion runs at the beginning and the end of jobs on any unit: its times tell how
/// units compare. For several threads.
class FleetTally {
 public:
  /// An answer to this job; `items` by their numbers in the job, nothing where there is none.
  void count(const FleetAnswer&, const SessionJob&, const std::vector<const SessionItem*>& items);
  /// By name.
  std::vector<UnitShare> shares() const;

 private:
  /// Logarithms of times.
  struct Times {
    double sum = 0;
    int count = 0;
    double mean() const { return sum / count; }
  };
  mutable std::mutex mutex_;
  std::map<std::string, UnitShare> shares_;
  std::map<std::uint64_t, std::map<std::string, Times>> champions_;  ///< by the kernel's code, then the unit
};

}  // namespace whet
