#pragma once

#include "codegen/llvm/architecture.h"

namespace whet {

/// AMX. Source: "Intel AMX Instruction Set Reference" in Intel's Architecture Instruction Set Extensions Programming Reference.
extern const TileUnit kAmx;

}  // namespace whet
