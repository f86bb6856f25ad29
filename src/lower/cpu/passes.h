#pragma once

#include "lower/expand_math.h"
#include "lower/passes.h"
#include "lower/vectorize.h"

namespace whet {

/// From `generate` to a CPU's code generator.
std::span<const LoweringPass> cpu_passes();

/// What the shared passes are told of a CPU.
MathSupport math_support(const CpuTarget&);
VectorSupport vector_support(const CpuTarget&);

}  // namespace whet
