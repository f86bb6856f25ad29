#pragma once

#include <string>

#include "base/result.h"
#include "machine/cores.h"
#include "machine/processor.h"
#include "target/target.h"

namespace whet {

/// This machine: the processor by its features, the usable cores as threads, cache sizes as the system reports them.
Target detect_target();

/// The text form of a target as people write it: `-mcpu=native` and a missing -mcpu mean this processor (with its cache
/// sizes), a missing -threads the usable cores.
Result<Target> resolve_target(const std::string& text);

/// Whether this machine can run code of `target`, or the sentence that says which feature it lacks.
Status can_run(const Target&);

}  // namespace whet
