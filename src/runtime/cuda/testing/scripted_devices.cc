#include "runtime/cuda/testing/scripted_state.h"

using namespace whet;                     // NOLINT: the driver's functions are global
using namespace whet::testing;            // NOLINT
using namespace whet::testing::scripted;  // NOLINT

extern "C" {

CUresult cuInit(unsigned flags) {
  ENTER(cuInit);
  if (flags != 0) return kInvalidValue;
  if (state->script.devices.empty()) return kNoDevice;
  state->initialised = true;
  return kSuccess;
}

CUresult cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = state->script.version;
  return kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  if (!state->initialised) return kNotInitialized;
  *count = static_cast<int>(state->script.devices.size());
  return kSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (!state->initialised) return kNotInitialized;
  if (device_of(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  ENTER(cuDeviceGetName);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  snprintf(name, static_cast<std::size_t>(bytes), "%s", d->name.c_str());
  return kSuccess;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ENTER(cuDeviceGetAttribute);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = d->sms, kSuccess;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return *value = d->arch / 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return *value = d->arch % 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return *value = 1980000, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return *value = 2619000, kSuccess;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return *value = 5120, kSuccess;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return *value = 50 << 20, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return *value = 227 << 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return *value = 228 << 10, kSuccess;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return *value = 0, kSuccess;
  }
  return kInvalidValue;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  ENTER(cuDeviceTotalMem_v2);
  const ScriptedDevice* d = device_of(device);
  if (d == nullptr) return kInvalidDevice;
  *bytes = d->memory;
  return kSuccess;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER(cuDeviceGetUuid_v2);
  if (device_of(device) == nullptr) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(16 * device + i);
  return kSuccess;
}

CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  ENTER(cuDeviceGetPCIBusId);
  if (device_of(device) == nullptr) return kInvalidDevice;
  snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device + 1);
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (device_of(device) == nullptr) return kInvalidDevice;
  const std::lock_guard<std::mutex> guard(state->lock);
  Context& primary = state->contexts[static_cast<std::size_t>(device)];
  ++primary.retained;
  *context = &primary.handle;
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  if (device_of(device) == nullptr) return kInvalidDevice;
  const std::lock_guard<std::mutex> guard(state->lock);
  Context& primary = state->contexts[static_cast<std::size_t>(device)];
  if (primary.retained == 0) return kInvalidContext;
  --primary.retained;
  return kSuccess;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(cuCtxPushCurrent_v2);
  current.push_back(context);
  return kSuccess;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  ENTER(cuCtxPopCurrent_v2);
  if (current.empty()) return kInvalidContext;
  if (context != nullptr) *context = current.back();
  current.pop_back();
  return kSuccess;
}

CUresult cuCtxSynchronize() {
  ENTER_IN_CONTEXT(cuCtxSynchronize);
  std::vector<CUstream> streams;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    for (const auto& [stream, owner] : state->streams) streams.push_back(stream);
  }
  for (CUstream stream : streams) {
    if (const CUresult code = wait_for(stream); code != 0) return code;
  }
  return kSuccess;
}

CUresult cuGetErrorName(CUresult code, const char** name) {
  ENTER(cuGetErrorName);
  *name = cuda_error_row(code).name;
  return kSuccess;
}

}  // extern "C"
