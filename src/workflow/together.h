#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "measure/device_measurer.h"
#include "workflow/tuning.h"

namespace whet {

// Several models that are tuned together: a kernel that they share is one task.

/// Reads the models for the place of `place`, which has none yet. Each has all of its tasks chosen.
Result<Prepared> prepare_together(const TuneSettings&, Prepared place);
/// How often each runs.
std::vector<double> runs_of(const TuneSettings&);

/// The most that one inference of any of the models touches [bytes].
std::int64_t footprint_of(const Prepared&, bool exact);

/// Times each network when the tasks have been tuned; they share the time that is left. What cannot be timed is told with its name.
void end_together(const TuneSettings&, const Prepared&, DeviceMeasurer&, const Devices&, RecordFile&, TuneListener&, Tuned&);

}  // namespace whet
