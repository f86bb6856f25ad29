#include "codegen/aarch64/architecture.h"
#include "codegen/x86/architecture.h"

namespace whet {

const Architecture& architecture_of(const CpuTarget& cpu) { return cpu.isa == Isa::aarch64 ? kAArch64 : kX86; }

}  // namespace whet
