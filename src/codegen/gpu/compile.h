#pragma once

#include "artifact/kernel.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// The most LLVM instructions of a Program for a GPU. The assembler takes about a fifth of a second for that many.
constexpr std::int64_t kMaxGpuInstructions = 12'000;

/// The kernel of a Program for a GPU as code for this host: an object whose entries are called as artifact/emulated_block.h
/// has it, from the same emitter as the GPU's. Products and sums are rounded apart, as the interpreter does it.
/// Needs and errors: those of `compile_kernel` for the target, a GPU.
Result<Kernel> compile_emulated(const Program&, const Target&);

}  // namespace whet
