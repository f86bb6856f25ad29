#pragma once

#include <string>

#include "base/result.h"
#include "target/target.h"

namespace whet {

/// The instruction sets that code for `target` may use, by names of target/cpu_isa.h with commas between: what a compiled
/// model asks of the processor that opens it. Those that no kernel ever uses (tile matrices, ciphers) are left out.
Result<std::string> required_isa(const Target&);

}  // namespace whet
