#include "runtime/cuda/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/errors.h"

namespace whet {
namespace {

using Wide = unsigned long long;

/// Whether a parent has started the driver, or was about to: one of its threads may have the lock then, for ever.
bool started_by_parent(const CudaDriver& driver) {
  const pid_t process = __atomic_load_n(&driver.started_by, __ATOMIC_ACQUIRE);
  return process != 0 && process != getpid();
}

int start(const CudaDriver& driver, whet_error* error) {
  if (started_by_parent(driver)) {
    return whet_fail(error, "CUDA cannot be used after fork(); open the model in the child");
  }
  pthread_mutex_lock(&driver.lock);
  __atomic_store_n(&driver.started_by, getpid(), __ATOMIC_RELEASE);
  const CUresult code = driver.call.cuInit(0);
  if (code != 0) __atomic_store_n(&driver.started_by, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&driver.lock);
  return code == 0 ? 0 : cuda_fail(error, code, "cannot start CUDA");
}

/// "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
void write_uuid(const CUuuid& uuid, char* text, size_t bytes) {
  size_t length = static_cast<size_t>(snprintf(text, bytes, "GPU"));
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    length += static_cast<size_t>(
        snprintf(text + length, bytes - length, "%s%02x", dash ? "-" : "", static_cast<unsigned char>(uuid.bytes[i])));
  }
}

bool is_counted(const CudaContext& context) { return context.device >= 0 && context.device < kMostCudaDevices; }

}  // namespace

int count_cuda_devices(const CudaDriver& driver, int* count, whet_error* error) {
  *count = 0;
  if (start(driver, error) != 0) return -1;
  if (const CUresult code = driver.call.cuDeviceGetCount(count); code != 0) {
    return cuda_fail(error, code, "cannot count the devices");
  }
  return *count > 0 ? 0 : whet_fail(error, "the CUDA driver finds no device");
}

int describe_cuda_device(const CudaDriver& driver, int number, CudaDeviceInfo* info, whet_error* error) {
  *info = CudaDeviceInfo{};
  info->number = number;
  CUdevice device = 0;
  CUuuid uuid{};
  int major = 0, minor = 0;
  size_t memory = 0;
  const CudaFunctions& call = driver.call;
  CUresult code = call.cuDeviceGet(&device, number);
  const auto ask = [&](CUdevice_attribute attribute, int* value) {
    if (code == 0) code = call.cuDeviceGetAttribute(value, attribute, device);
  };
  if (code == 0) code = call.cuDeviceGetName(info->name, sizeof info->name, device);
  if (code == 0) code = call.cuDeviceGetUuid_v2(&uuid, device);
  if (code == 0) code = call.cuDeviceTotalMem_v2(&memory, device);
  ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major);
  ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor);
  ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->multiprocessors);
  ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &info->block_memory);
  if (code != 0) return cuda_fail(error, code, "cannot describe cuda:%d", number);
  info->arch = 10 * major + minor;
  info->memory_bytes = memory;
  write_uuid(uuid, info->uuid, sizeof info->uuid);
  return 0;
}

int open_cuda_context(const CudaDriver& driver, int number, CudaContext* context, whet_error* error) {
  *context = CudaContext{};
  context->driver = &driver;
  if (describe_cuda_device(driver, number, &context->info, error) != 0) return -1;
  CUresult code = driver.call.cuDeviceGet(&context->device, number);
  if (code != 0) return cuda_fail(error, code, "cannot find cuda:%d", number);
  if (check_cuda_device(*context, error) != 0) return -1;
  CUcontext handle = nullptr;
  code = driver.call.cuDevicePrimaryCtxRetain(&handle, context->device);
  if (code != 0) return cuda_device_fail(*context, code, error, "make a context");
  context->handle = handle;
  return 0;
}

void close_cuda_context(CudaContext* context) {
  if (context->handle != nullptr) context->driver->call.cuDevicePrimaryCtxRelease_v2(context->device);
  context->handle = nullptr;
}

int cuda_device_fail(const CudaContext& context, CUresult code, whet_error* error, const char* format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  whet_error sentence;
  cuda_fail(&sentence, code, "cuda:%d (%s) cannot %s", context.info.number, context.info.name, text);
  if (fate_of(code).sticky && is_counted(context)) {
    pthread_mutex_lock(&context.driver->lock);
    whet_error& kept = context.driver->lost[context.device];
    if (kept.message[0] == '\0') kept = sentence;
    sentence = kept;
    pthread_mutex_unlock(&context.driver->lock);
  }
  return whet_fail(error, "%s", sentence.message);
}

int check_cuda_device(const CudaContext& context, whet_error* error) {
  if (!is_counted(context)) return 0;
  pthread_mutex_lock(&context.driver->lock);
  const whet_error kept = context.driver->lost[context.device];
  pthread_mutex_unlock(&context.driver->lock);
  return kept.message[0] == '\0' ? 0 : whet_fail(error, "%s", kept.message);
}

int allocate_cuda_memory(const CudaContext& context, std::uint64_t bytes, const char* what, CUdeviceptr* pointer,
                         whet_error* error) {
  const CUresult code = context.driver->call.cuMemAlloc_v2(pointer, bytes > 0 ? bytes : 1);
  if (code == 0) return 0;
  *pointer = 0;
  size_t free = 0, total = 0;
  if (cuda_error_row(code).kind != CudaErrorClass::memory || context.driver->call.cuMemGetInfo_v2(&free, &total) != 0) {
    return cuda_device_fail(context, code, error, "allocate %s (%llu bytes)", what, Wide{bytes});
  }
  constexpr double kMegabyte = 1e6;
  return whet_fail(error, "cuda:%d (%s): %s needs %.1f MB; %.1f of %.1f MB are free", context.info.number,
                   context.info.name, what, static_cast<double>(bytes) / kMegabyte,
                   static_cast<double>(free) / kMegabyte, static_cast<double>(total) / kMegabyte);
}

}  // namespace whet
