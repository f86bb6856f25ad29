#pragma once

#include <span>
#include <string_view>

#include "artifact/kernel.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// The most LLVM instructions of a Program for a GPU. The assembler takes about a fifth of a second for that many.
constexpr std::int64_t kMaxGpuInstructions = 12'000;
/// The same where the code is for this host, which rounds a word in a dozen instructions instead of one, and which no assembler
/// waits for.
constexpr std::int64_t kMaxEmulatedInstructions = 3 * kMaxGpuInstructions;

/// Whether this target's kernels may be started before the launches in front of them have ended: they wait themselves
/// (griddepcontrol) before they touch memory that others write.
bool kernels_start_early(const GpuTarget&);
/// Whether every entry of some PTX waits for the launches in front of it before its first access to global memory. Kernels that
/// start early and do not are refused.
bool waits_first(std::string_view ptx);

/// The kernel of a Program for a GPU as code for this host: a module (artifact/emulated_module.h) from the same emitter as
/// the GPU's. Products and sums are rounded apart, as the interpreter does it.
///   seconds  that each launch takes, by an estimate; empty: unknown
/// Needs and errors: those of `compile_kernel` for the target, a GPU.
Result<Kernel> compile_emulated(const Program&, const Target&, std::span<const double> seconds = {});

}  // namespace whet
