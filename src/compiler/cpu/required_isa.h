#pragma once

#include <string>

#include "base/result.h"
#include "target/cpu_isa.h"
#include "target/target.h"

namespace whet {

/// The instruction sets that code for `target` may use, by names of target/cpu_isa.h with commas between: what a compiled
/// model asks of the processor that opens it. Those that no kernel ever uses (ciphers) are left out, and those of tiles where
/// no kernel multiplies by them: a system may refuse these.
///   tiles  those of tiles that kernels use
Result<std::string> required_isa(const Target&, IsaSet tiles = 0);

}  // namespace whet
