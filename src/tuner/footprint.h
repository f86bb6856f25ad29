#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "passes/fuse.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// The bytes that one inference touches: what kernels read of their constants (of a table of words some rows), and twice the largest
/// activation. Constants may take more than the model has of them: Winograd's transformed weights are 16 or 36 numbers for 9.
struct Footprint {
  /// Constants of a task that an algorithm may enlarge.
  struct Growing {
    std::int64_t written = 0, most = 0;  ///< as the model has them; by the algorithm that has most of them [bytes]
  };
  std::int64_t always = 0;
  std::vector<Growing> growing;

  /// Where all tasks choose as one that packs its constants into `growth` times the model's bytes. A candidate is timed in this network:
  /// were weights cached then and not in the network, tuning would choose the wrong algorithm; were they cached in the network alone, its
  /// record would not hold there.
  std::int64_t at(double growth) const;
  /// As the model has its constants.
  std::int64_t least() const { return at(1); }
};

inline bool touches_less(const Footprint& a, const Footprint& b) { return a.least() < b.least(); }

///   exact  without Winograd's algorithms
Footprint network_footprint(const FusedGraph&, const std::vector<Task>&, bool exact);

/// How much of a footprint to lay out for measuring [bytes]: at most four times the last cache level. Memory of that size,
/// walked from end to end again and again, is about as cold as more. (A cache keeps a part of memory that is larger than it:
/// a Zen 5 keeps most of a quarter more than its size.)
std::int64_t laid_out(std::int64_t footprint, const Target&);
/// The same for a candidate, as MeasureOptions have it. Constants that are padded, of a task that no algorithm enlarges, are no growth.
std::function<std::int64_t(const ComputeDag&, std::int64_t packed)> laid_out(const Footprint&, const Target&);

}  // namespace whet
