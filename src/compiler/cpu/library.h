#pragma once

#include <string>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/compile.h"

namespace whet {

/// Links kernels of format native_object, the plan and the weights with the runtime; the plans get the instruction sets
/// that the target's code may use.
Status write_cpu_library(AssembledLibrary&, const std::vector<CompiledTask>&, const Target&, const std::string& output,
                         const CompileOptions&);

}  // namespace whet
