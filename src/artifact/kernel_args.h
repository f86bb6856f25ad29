#pragma once

// The contract between generated code and whoever runs it: plain C, so that LLVM IR, the runtime and the runner agree.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHET_KERNEL_ARGS_VERSION 2

struct whet_kernel_runtime {
  /// Returns when all workers of this kernel have called it.
  void (*barrier)(void* team, uint32_t worker);
};

/// What one worker's call of a kernel gets. Every field's offset is fixed: generated code reads them by offset.
struct whet_kernel_args {
  void* const* buffers;    ///< one pointer an argument of the Program, 64-byte aligned unless its metadata says less
  void* workspace;         ///< one that all workers see, 64-byte aligned
  void* worker_workspace;  ///< this worker's own, 64-byte aligned
  const struct whet_kernel_runtime* runtime;
  void* team;       ///< handed to barrier
  uint32_t worker;  ///< 0 .. workers-1
  uint32_t workers;
};

/// Returns 0; another number is an error that the kernel reports.
typedef int32_t (*whet_kernel)(const struct whet_kernel_args* args);

#ifdef __cplusplus
}
#endif
