#pragma once

#include <cstdint>

#include "runtime/cuda/driver.h"

namespace whet {

/// The properties of a GPU that are known before anything runs on it.
struct CudaDeviceInfo {
  char name[128];
  char uuid[48];  ///< "GPU-1f0e2d3c-..."
  int number;     ///< as the driver counts, after CUDA_VISIBLE_DEVICES
  int arch;       ///< 90 for sm_90
  int multiprocessors;
  std::uint64_t memory_bytes;
  int block_memory;  ///< bytes that a block may have, with the opt-in
};

/// A GPU in use: its primary context, which other libraries of the process share. Thread-safe.
struct CudaContext {
  const CudaDriver* driver;
  CUdevice device;
  CUcontext handle;  ///< null: closed
  CudaDeviceInfo info;
};

/// Initialises the driver and counts its devices. Gives 0, or -1 and a sentence; no device is an error too. After a
/// fork of an initialised process it is an error.
int count_cuda_devices(const CudaDriver& driver, int* count, whet_error* error);

/// Asks the driver for the properties of a device; `number` is below the count.
int describe_cuda_device(const CudaDriver& driver, int number, CudaDeviceInfo* info, whet_error* error);

/// Retains the primary context of a device, after count_cuda_devices. Close it in the same process.
int open_cuda_context(const CudaDriver& driver, int number, CudaContext* context, whet_error* error);
void close_cuda_context(CudaContext* context);

/// While it exists the context is current in this thread. The thread's own is current again afterwards.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context) : context_(context) {
    code_ = context.driver->call.cuCtxPushCurrent_v2(context.handle);
  }
  ~CurrentContext() {
    if (code_ == 0) context_.driver->call.cuCtxPopCurrent_v2(nullptr);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  CUresult code() const { return code_; }  ///< 0: it is current

 private:
  const CudaContext& context_;
  CUresult code_;
};

/// Fills `error` with "cuda:0 (NVIDIA H100) cannot <text>: ..." and gives -1. A sticky code is remembered: the device is
/// lost to this process.
__attribute__((format(printf, 4, 5))) int cuda_device_fail(const CudaContext& context, CUresult code, whet_error* error,
                                                           const char* format, ...);
/// 0, or the sentence with which the device was lost.
int check_cuda_device(const CudaContext& context, whet_error* error);

/// Allocates device memory, at least one byte, 256-byte aligned; `what` is "the arena". A refusal tells how much is free.
/// The context is current.
int allocate_cuda_memory(const CudaContext& context, std::uint64_t bytes, const char* what, CUdeviceptr* pointer,
                         whet_error* error);

}  // namespace whet
