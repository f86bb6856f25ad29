#include "codegen/x86/architecture.h"

namespace whet {

const Architecture& architecture_of(const CpuTarget&) { return kX86; }

}  // namespace whet
