#pragma once

#include <string_view>

/// As cpu_runtime_object (runtime/embedded.h), for AArch64. It is empty in a whet that was built without a compiler for it.
extern "C" const char whet_aarch64_runtime_object_begin[];
extern "C" const char whet_aarch64_runtime_object_end[];

namespace whet {

inline std::string_view aarch64_runtime_object() {
  return {whet_aarch64_runtime_object_begin, whet_aarch64_runtime_object_end};
}

}  // namespace whet
