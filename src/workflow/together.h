#pragma once

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

/// The latencies that end the tuning of each model [s], 0 where there is none; empty: none has one. Errors are those of wrong use.
Result<std::vector<double>> until_of(const TuneSettings&);

/// Times each network when the tasks have been tuned; they share the time that is left. What cannot be timed is told with its name.
void end_together(const TuneSettings&, const Prepared&, DeviceMeasurer&, const Devices&, RecordFile&, TuneListener&,
                  Tuned&);

}  // namespace whet
