#pragma once

#include <string>

#include "base/result.h"
#include "machine/cores.h"
#include "machine/processor.h"
#include "target/target.h"

namespace whet {

/// This machine: the processor by its features, the usable cores as threads, cache sizes as the system reports them.
Target detect_target();

/// The text form of a target as people write it. Of a CPU, `-mcpu=native` and a missing -mcpu mean this processor (with
/// its cache sizes), and a missing -threads means the usable cores. Other kinds are read as they are written.
Result<Target> resolve_target(const std::string& text);

/// Whether this machine's processor can run code of `target`, or the sentence that says which feature it lacks. Of a
/// target that is no CPU nothing is known here: its device tells.
Status can_run(const Target&);

}  // namespace whet
