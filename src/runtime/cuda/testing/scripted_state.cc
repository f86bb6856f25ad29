#include "runtime/cuda/testing/scripted_state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace whet::testing::scripted {

State* state = nullptr;
thread_local std::vector<CUcontext> current;

Guarded map_guarded(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t room = (bytes + 255) / 256 * 256;
  const std::size_t inner = (room + page - 1) / page * page;
  Guarded memory;
  void* mapping = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return memory;
  memory.mapping = static_cast<char*>(mapping);
  memory.mapped = inner + 2 * page;
  if (mprotect(memory.mapping + page, inner, PROT_READ | PROT_WRITE) != 0) return memory;
  memory.data = memory.mapping + page + inner - room;
  memory.bytes = bytes;
  std::memset(memory.data, 0xa5, room);  // memory of a device holds anything
  return memory;
}

void unmap(const Guarded& memory) { munmap(memory.mapping, memory.mapped); }

namespace {

/// Counts the call and asks the script.
CallScript ask(const char* function) {
  CallScript verdict;
  const std::lock_guard<std::mutex> guard(state->lock);
  ++state->calls[function];
  for (std::size_t i = 0; i < state->script.rules.size(); ++i) {
    const ScriptRule& rule = state->script.rules[i];
    if (rule.function != function) continue;
    if (++state->rule_calls[i] != rule.nth && rule.nth != 0) continue;
    switch (rule.what) {
      case ScriptRule::What::code:
        verdict.code = rule.code;
        break;
      case ScriptRule::What::late:
        verdict.late_milliseconds = rule.milliseconds;
        break;
      case ScriptRule::What::hangs:
        verdict.hangs = true;
        verdict.hang_code = rule.code;
        verdict.late_milliseconds = rule.milliseconds;
        break;
    }
  }
  return verdict;
}

}  // namespace

CUresult enter(const char* function, bool needs_context, CallScript* verdict) {
  const CallScript asked = ask(function);
  if (verdict != nullptr) {
    *verdict = asked;
  } else if (asked.late_milliseconds > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(asked.late_milliseconds));
  }
  const std::lock_guard<std::mutex> guard(state->lock);
  Context* context = nullptr;
  if (CUcontext handle = current_context()) context = &state->contexts[static_cast<std::size_t>(handle->device)];
  if (needs_context && context == nullptr) return asked.code != 0 ? asked.code : kInvalidContext;
  if (needs_context && context->lost != 0) return context->lost;
  if (asked.code != 0 && context != nullptr && fate_of(asked.code).sticky) context->lost = asked.code;
  return asked.code;
}

void lose(CUcontext context, CUresult code) {
  if (!fate_of(code).sticky) return;
  const std::lock_guard<std::mutex> guard(state->lock);
  state->contexts[static_cast<std::size_t>(context->device)].lost = code;
}

char* device_range(CUdeviceptr pointer, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(state->lock);
  auto after = state->device_memory.upper_bound(pointer);
  if (after == state->device_memory.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(after);
  const std::size_t at = pointer - begin;
  if (at > memory.bytes || bytes > memory.bytes - at) return nullptr;
  return memory.data + at;
}

const ScriptedDevice* device_of(CUdevice device) {
  if (device < 0 || static_cast<std::size_t>(device) >= state->script.devices.size()) return nullptr;
  return &state->script.devices[static_cast<std::size_t>(device)];
}

std::size_t in_use(int device) {
  std::size_t bytes = 0;
  for (const auto& [pointer, memory] : state->device_memory) bytes += memory.device == device ? memory.bytes : 0;
  return bytes;
}

CUresult allocate_on(int device, size_t bytes, CUdeviceptr* pointer) {
  const std::lock_guard<std::mutex> guard(state->lock);
  if (bytes == 0) return kInvalidValue;
  if (in_use(device) + bytes > state->script.devices[static_cast<std::size_t>(device)].memory) return kOutOfMemory;
  Guarded memory = map_guarded(bytes);
  if (memory.data == nullptr) return kOutOfMemory;
  memory.device = device;
  *pointer = reinterpret_cast<CUdeviceptr>(memory.data) | kDeviceBit;
  state->device_memory[*pointer] = memory;
  return kSuccess;
}

}  // namespace whet::testing::scripted
