#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/json.h"
#include "workflow/tuning.h"

namespace whet {

// The results of a run as `whet tune --json` and the events of a run have them (docs/formats/events.md). Times are in
// milliseconds; one that is not known is null.

Json to_json(const TaskProgress&);
/// TuneProgress::uncompared as a sentence: how many tasks have gains that no comparison at the end confirms.
std::string uncompared_text(std::int64_t tasks);
/// "The processors moved ...": what is said once, when that was seen first.
std::string moved_text(const PlacementTimes&);
/// A list of `round_trip_ns` and `seconds`.
Json to_json(const PlacementTimes&);
/// Until the trials or the time are used up, with what comes after them; infinity where there is no limit [s].
double seconds_left(const TuneProgress&);
/// "In the first round 19 of 21 tasks; 14 winners are transfers, 3 are searched, 3 default, 1 untimed"; "" where there was no such round.
std::string first_round_text(const TuneProgress&);
/// The same as JSON; null.
Json first_round_json(const TuneProgress&);
/// The sums over the tasks that have both times, and their number.
Json compared_json(const TuneProgress&);
Json to_json(const std::vector<UnitReport>&);
Json to_json(const NetworkTruth&);
Json to_json(const PlanSearch&);
/// "Kernels for ranges: 12 kernels of 4 tasks, 96 times at the tuning sizes, 0 failed, in 0.8 s"
std::string ladder_text(const LadderProgress&);
/// How far kernels for ranges are timed.
Json to_json(const LadderProgress&);
/// The network at sizes: a list, with the values of the sizes by their names.
Json to_json(const NetworkAtSizes&, const std::vector<std::string>& names);
/// `{"n":16}`
Json values_json(const std::vector<std::string>& names, const SizeValues&);
///   records  the record file
Json to_json(const Tuned&, const std::string& records);

}  // namespace whet
