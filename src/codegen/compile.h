#pragma once

#include <cstdint>
#include <string>

#include "artifact/kernel.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// A Program that would need more instructions than this is refused before LLVM sees it: such kernels take seconds to
/// compile and thrash the instruction cache.
constexpr std::int64_t kMaxInstructions = 100'000;

/// Generates machine code.
///   Needs  flat accesses (one index each), no loop marked vectorized or unrolled, `parallel` loops and barriers only
///   at
///          the top level (inside nothing but blocks and lets), only the functions sqrt, abs, bits_of and float_of_bits
///          in calls, and floor, ceil and round where the target has an instruction (else run `expand_math` before).
///   Gives  position-independent code that refers to memcpy, memset and memmove alone.
/// Distinct buffers are taken to be distinct memory; arguments that are not `written` do not change while the kernel
/// runs. Floating point: multiplications and additions may contract (FMA); f16 values are computed in f32 and rounded
/// when cast or stored. Registers that are read before they are written hold anything. Thread-safe; LLVM's target
/// machine and context are kept per thread. Errors say what the target or program lacks.
Result<Kernel> compile_kernel(const Program&, const Target&);

/// The kernel's instructions, one a line, with `symbol:` before the function; for tests and explanations.
Result<std::string> disassemble(const Kernel&, const Target&);

}  // namespace whet
