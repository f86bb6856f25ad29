#include "codegen/llvm/compiler.h"
#include "codegen/x86/architecture.h"

namespace whet {

/// A processor without fused multiply-adds, so that sums come out as the interpreter's, and whose accesses to vectors fault
/// where they are not aligned as claimed.
LlvmCompiler& emulation_compiler() {
  initialize(kX86);
  return LlvmCompiler::get(
      {.triple = kX86.triple, .processor = "x86-64-v2", .features = "", .promote = true, .left_out = kX86.left_out});
}

}  // namespace whet
