#include "runtime/cuda/testing/scripted_state.h"

#include <algorithm>
#include <cstring>

namespace whet::testing::scripted {

void before_free() {
  std::vector<CUstream> used;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    for (const auto& [stream, owner] : state->streams) {
      if (stream->maker == std::this_thread::get_id() && !stream->queue.empty()) used.push_back(stream);
    }
    state->frees_of_used += !used.empty();
  }
  for (CUstream stream : used) drain(stream);
}

}  // namespace whet::testing::scripted

using namespace whet;                     // NOLINT: the driver's functions are global
using namespace whet::testing;            // NOLINT
using namespace whet::testing::scripted;  // NOLINT

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAlloc_v2);
  return allocate_on(current_context()->device, bytes, pointer);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  ENTER_IN_CONTEXT(cuMemFree_v2);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->device_memory.find(pointer);
  if (found == state->device_memory.end()) return kInvalidValue;
  unmap(found->second);
  state->device_memory.erase(found);
  return kSuccess;
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAllocHost_v2);
  if (bytes == 0) return kInvalidValue;
  const Guarded memory = map_guarded(bytes);
  if (memory.data == nullptr) return kOutOfMemory;
  *pointer = memory.data;
  const std::lock_guard<std::mutex> guard(state->lock);
  state->host_memory[memory.data] = memory;
  return kSuccess;
}

CUresult cuMemFreeHost(void* pointer) {
  ENTER_IN_CONTEXT(cuMemFreeHost);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto found = state->host_memory.find(pointer);
  if (found == state->host_memory.end()) return kInvalidValue;
  unmap(found->second);
  state->host_memory.erase(found);
  return kSuccess;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER_IN_CONTEXT(cuMemGetInfo_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  const int device = current_context()->device;
  *total = state->script.devices[static_cast<std::size_t>(device)].memory;
  *free = *total - in_use(device);
  return kSuccess;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  char* there = device_range(to, bytes);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, there, static_cast<const char*>(from), bytes, from);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  const char* there = device_range(from, bytes);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, static_cast<char*>(to), there, bytes, to);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
  char* target = device_range(to, bytes);
  const char* source = device_range(from, bytes);
  if (target == nullptr || source == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit_copy(stream, target, source, bytes, nullptr);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  ENTER_IN_CONTEXT(cuMemsetD32Async);
  char* there = device_range(to, 4 * count);
  if (there == nullptr || !is_stream(stream)) return kInvalidValue;
  return submit(stream, {}, [=] {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(there + 4 * i, &value, 4);
    return kSuccess;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  ENTER_IN_CONTEXT(cuPointerGetAttribute);
  const bool on_device = device_range(pointer, 0) != nullptr;
  const std::lock_guard<std::mutex> guard(state->lock);
  const bool pinned = std::any_of(state->host_memory.begin(), state->host_memory.end(), [&](const auto& entry) {
    const CUdeviceptr begin = reinterpret_cast<CUdeviceptr>(entry.second.data);
    return pointer >= begin && pointer < begin + entry.second.bytes;
  });
  if (!on_device && !pinned) return kInvalidValue;
  int device = 0;
  if (on_device) device = std::prev(state->device_memory.upper_bound(pointer))->second.device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return kSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = device;
      return kSuccess;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = &state->contexts[static_cast<std::size_t>(device)].handle;
      return kSuccess;
  }
  return kInvalidValue;
}

}  // extern "C"
