#pragma once

#include "codegen/llvm/architecture.h"

namespace whet {

/// AArch64 as LLVM 19 has it, with vectors of 128 bits.
extern const Architecture kAArch64;

}  // namespace whet
