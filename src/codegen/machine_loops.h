#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "base/result.h"
#include "target/target.h"

namespace whet {

/// A loop without another loop inside, as the machine code has it.
struct MachineLoop {
  std::string text;                 ///< its instructions as `disassemble` prints them, one a line
  std::int64_t multiply_adds = 0;   ///< fused, of vectors of floats or of bytes by fours
  std::vector<std::string> spills;  ///< the instructions that read or write a vector on the stack
};

/// The innermost loops of a kernel, in the order of the code. None for a kind of target that has no machine code.
/// Errors and threads as in `disassemble` (compile.h).
Result<std::vector<MachineLoop>> innermost_loops(const Kernel&, const Target&);

/// Those of a kernel's innermost loops in which it spends its time: they hold at least half as many multiply-adds as the
/// fullest one, and at least one. The fullest one comes in variants (edges of a picture, rows of taps), which count too.
std::vector<MachineLoop> main_loops(std::vector<MachineLoop> innermost);

}  // namespace whet
