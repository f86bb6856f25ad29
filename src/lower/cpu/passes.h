#pragma once

#include "lower/expand_math.h"
#include "lower/passes.h"
#include "lower/vectorize.h"

namespace whet {

/// The passes between `generate` and the code generator for CPUs.
std::span<const LoweringPass> cpu_passes();

/// The instructions of a CPU that the shared passes use.
MathSupport math_support(const CpuTarget&);
VectorSupport vector_support(const CpuTarget&);

}  // namespace whet
