// For the released whet, which is linked with LLVM's archives: the linker's library initialises every target of LLVM and names a
// plugin, so that all of them would be linked. Here are empty ones in their place; the code generators of x86, AArch64 and NVPTX are real.

#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>

#define WHET_NO_TARGET(name)                            \
  extern "C" void LLVMInitialize##name##TargetInfo() {} \
  extern "C" void LLVMInitialize##name##Target() {}     \
  extern "C" void LLVMInitialize##name##TargetMC() {}   \
  extern "C" void LLVMInitialize##name##AsmPrinter() {} \
  extern "C" void LLVMInitialize##name##AsmParser() {}  \
  extern "C" void LLVMInitialize##name##Disassembler() {}

WHET_NO_TARGET(AMDGPU)
WHET_NO_TARGET(ARM)
WHET_NO_TARGET(AVR)
WHET_NO_TARGET(BPF)
WHET_NO_TARGET(Hexagon)
WHET_NO_TARGET(Lanai)
WHET_NO_TARGET(LoongArch)
WHET_NO_TARGET(M68k)
WHET_NO_TARGET(MSP430)
WHET_NO_TARGET(Mips)
WHET_NO_TARGET(PowerPC)
WHET_NO_TARGET(RISCV)
WHET_NO_TARGET(Sparc)
WHET_NO_TARGET(SystemZ)
WHET_NO_TARGET(VE)
WHET_NO_TARGET(WebAssembly)
WHET_NO_TARGET(XCore)
WHET_NO_TARGET(Xtensa)

llvm::PassPluginLibraryInfo getPollyPluginInfo() { std::abort(); }
