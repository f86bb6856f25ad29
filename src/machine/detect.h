#pragma once

#include <string>

#include "base/result.h"
#include "machine/cores.h"
#include "machine/processor.h"
#include "target/target.h"

namespace whet {

/// The target of this machine: the processor by its features, the usable cores as threads, cache sizes as the system
/// reports them.
Target detect_target();

/// Parses the text form of a target as people write it. For a CPU, `-mcpu=native` and a missing -mcpu mean this
/// processor (with its cache sizes), and a missing -threads means the usable cores. Other kinds are read as they are
/// written.
Result<Target> resolve_target(const std::string& text);

/// A CPU of another architecture than this machine's.
bool is_foreign(const Target&);

/// Checks that this machine's processor can run code of `target`. The error names the missing feature. A target that is
/// no CPU always passes: its device decides.
Status can_run(const Target&);
/// The same of a machine with these instruction sets; `where` names it.
Status can_run(const Target&, Isa, IsaSet features, const std::string& where);

}  // namespace whet
