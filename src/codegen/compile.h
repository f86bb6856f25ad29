#pragma once

#include <cstdint>
#include <string>

#include "artifact/kernel.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// A Program that needs more instructions is refused before LLVM sees it: such kernels take seconds to compile, and do
/// not fit into the instruction cache.
constexpr std::int64_t kMaxInstructions = 100'000;

/// Generates the code of a kernel, by the generator for the target's kind.
///   Needs    flat accesses (one index each);
///            no loop marked vectorized or unrolled;
///            for a CPU, `parallel` loops and barriers only at the top level (inside nothing but blocks and lets);
///            for a GPU, launches with barriers of the grid between them (program.h);
///            calls of sqrt, abs, bits_of and float_of_bits alone; also of floor, ceil and round where the target has
///            an instruction for them, and on a GPU of exp and rsqrt of f32 (`expand_math` replaces the others).
///   Gives    for a CPU, position-independent code that refers to memcpy, memset and memmove alone;
///            for a GPU, PTX with an entry a launch.
///   Errors   name the part of the program that the target cannot run.
///   Threads  safe to call from several threads. Each thread keeps LLVM's target machine and context.
/// Distinct buffers are assumed to be distinct memory. Arguments that are not `written` do not change while the kernel
/// runs. Multiplications and additions of floats may contract (FMA). f16 values are computed in f32 and rounded when
/// they are cast or stored. Registers that are read before they are written hold any value.
Result<Kernel> compile_kernel(const Program&, const Target&);

/// LLVM's IR of a kernel for a CPU, before instructions are chosen: what `compile_kernel` makes its code of.
Result<std::string> intermediate_code(const Program&, const Target&);

/// The kernel's instructions, one a line, with `symbol:` before the function; for tests and explanations.
Result<std::string> disassemble(const Kernel&, const Target&);

}  // namespace whet
