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
/// The sums over the tasks that have both times, and their number.
Json compared_json(const TuneProgress&);
Json to_json(const std::vector<UnitReport>&);
Json to_json(const NetworkTruth&);
Json to_json(const PlanSearch&);
///   records  the record file
Json to_json(const Tuned&, const std::string& records);

}  // namespace whet
