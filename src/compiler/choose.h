#pragma once

#include "compiler/compile.h"
#include "records/records.h"

namespace whet {

/// The best records where there are any, else default schedules. `records` may be null and outlives the source.
ScheduleSource best_of(const Records* records, const Target&);

}  // namespace whet
