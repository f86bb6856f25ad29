#include <llvm/Config/llvm-config.h>

#include "codegen/llvm_version.h"

namespace whet {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace whet
