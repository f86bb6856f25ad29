#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "target/precision.h"
#include "tensor/shape.h"
#include "trial/outcome.h"

namespace whet {

/// The placement of the processors (trial/placement.h) by whose times a task ranks: that of its last line, once the schedule that ranked
/// first before was timed in it. Until then it is the one before, so that a slow trial behind a move outranks nothing, also where the run
/// was killed there. A run may permit one kind of rounding alone: it is enough that the first of one kind was timed.
/// Lines whose times compare have a placement together: those of one target, part, code generator and cache mode. A line without a
/// placement counts in each.
class PlacementsAtHand {
 public:
  ///   records  of one task, in the order of their lines; they outlive this
  explicit PlacementsAtHand(const std::vector<const Record*>& records);
  /// The time of one of them is of another placement than the one at hand.
  bool is_elsewhere(const Record&) const;

 private:
  /// A schedule's last time, as it ranks: seconds, whether no network chose it, and its line.
  using Figure = std::tuple<double, bool, std::size_t, const Record*>;
  using Rounding = std::pair<bool, Precision>;
  /// The schedules that were timed in one placement.
  struct Placed {
    ProcessorPlacement placement;
    std::unordered_map<std::string_view, Figure> last;  ///< by steps
    std::map<Rounding, std::set<Figure>> by_rounding;   ///< the same, the fastest first
    void take(const Record&, std::size_t line);
    /// One that ranks first in `other` was timed here, or nothing ranks there.
    bool has_first_of(const Placed& other) const;
  };
  /// Lines whose times compare.
  struct Comparable {
    std::vector<Placed> placements;
    Placed everywhere;                       ///< by the lines without a placement
    std::size_t at_hand = 0, last_line = 0;  ///< numbers of placements
    /// The number of a placement; that of a new one where no line has it.
    std::size_t number_of(const ProcessorPlacement&) const;
    void take(const Record&, std::size_t line);
  };
  using Kind = std::tuple<std::string_view, Shape, int, std::string_view, bool>;
  static Kind kind_of(const Record&);

  std::map<Kind, Comparable> kinds_;  ///< none where the processors never moved
};

}  // namespace whet
