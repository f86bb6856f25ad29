#pragma once

#include <functional>

#include "base/result.h"
#include "tuner/tuner.h"
#include "workflow/tuning.h"

namespace whet {

/// Times the default schedules of a prepared model's tasks alternately with what its record base knows, the heaviest first, and appends
/// to `settings.records`: `whet tune` with its quick round alone. Other tasks keep what is known of them without measuring.
///   seconds   from now on; no task is begun after them
///   on_round  as `tune` has it
Result<TuneProgress> time_quickly(const TuneSettings&, const Workplace&, Zygote&, double seconds,
                                  const std::function<void(const TuneProgress&)>& on_round);

}  // namespace whet
