#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// One compiled kernel: a relocatable ELF object that defines `symbol` (a whet_kernel) and refers to nothing but
/// memcpy, memset, memmove.
struct Kernel {
  std::string symbol;
  std::string object;                        ///< bytes of the object file
  std::int64_t worker_workspace = 0;         ///< bytes each worker needs
  std::int64_t shared_workspace = 0;         ///< bytes all workers share
  std::vector<std::int64_t> argument_bytes;  ///< size of each argument
  bool parallel = false;                     ///< has a parallel loop: worth more than one worker
  std::int32_t barriers = 0;                 ///< between its phases
};

/// Version of the code generator: part of every record, raised when generated code changes enough to make old times
/// estimates.
constexpr int kCodegenVersion = 8;

}  // namespace whet
