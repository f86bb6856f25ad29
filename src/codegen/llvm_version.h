#pragma once

#include <string>

namespace whet {

/// The version of LLVM that this program makes code with, like "19.1.7".
std::string llvm_version();

}  // namespace whet
