#pragma once

#include <string>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/compile.h"

namespace whet {

/// Links kernels of format ptx, the plan and the weights with the runtime for CUDA. The kernels are one module of PTX; where
/// all tasks are compiled for the emulated device too, the library carries that code beside it.
Status write_gpu_library(AssembledLibrary&, const std::vector<CompiledTask>&, const Target&, const std::string& output,
                         const CompileOptions&);

}  // namespace whet
