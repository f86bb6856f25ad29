#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "measure/measurer.h"
#include "trial/outcome.h"

namespace whet {

/// The records of a task that were taken in one placement of the processors: the last of each schedule. A line without a placement, as
/// that of a failure, counts in every one.
struct PlacedRecords {
  ProcessorPlacement placement;
  std::map<std::string_view, const Record*> last;  ///< by steps
};
/// Those of the placement `at_hand` come first, also where there are none; where it is not known, those of the first line that has one.
std::vector<PlacedRecords> by_placement(const std::vector<const Record*>&, const ProcessorPlacement& at_hand);

/// The fastest that are worth measuring again together, none truncated: at most `n` of the placement at hand, none slower than `ratio`
/// times the first of them, the fastest first; then the fastest of each algorithm (a schedule's first step) in other placements, since
/// another algorithm reads other bytes.
std::vector<const Record*> finalists_of(const std::vector<PlacedRecords>&, std::size_t n, double ratio);

/// The schedule whose time is the shortest over a run, by the share of each placement; its record of the placement at hand. Only
/// schedules that were timed in every placement that had a twentieth of the time; null: there is none.
const Record* best_over(const PlacementTimes&, const std::vector<PlacedRecords>&);

/// The task reads or writes more than the processors' own caches hold, so that its time changes with the placement.
bool streams(const MeasureTask&);

}  // namespace whet
