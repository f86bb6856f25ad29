#pragma once

#include "codegen/llvm/architecture.h"

namespace whet {

/// x86-64 as LLVM 19 has it.
extern const Architecture kX86;

}  // namespace whet
