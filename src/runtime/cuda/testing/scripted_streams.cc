#include "runtime/cuda/testing/scripted_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace whet::testing::scripted {

CUresult run_copy(const CUDA_MEMCPY3D_v2& copy) {
  const std::size_t bytes = copy.WidthInBytes;
  if (copy.Height != 1 || copy.Depth != 1) return kInvalidValue;
  const auto side = [&](CUmemorytype type, CUdeviceptr device, const void* host) {
    return type == CU_MEMORYTYPE_DEVICE ? device_range(device, bytes) : static_cast<char*>(const_cast<void*>(host));
  };
  const char* from = side(copy.srcMemoryType, copy.srcDevice, copy.srcHost);
  char* to = side(copy.dstMemoryType, copy.dstDevice, copy.dstHost);
  if (from == nullptr || to == nullptr) return kInvalidValue;
  std::memcpy(to, from, bytes);
  return kSuccess;
}

CUresult run_kernel(const CUfunc_st& function, const HostLaunch& given) {
  HostLaunch launch = given;
  for (void*& parameter : launch.parameters) {
    if (parameter == nullptr) continue;
    parameter = device_range(reinterpret_cast<CUdeviceptr>(parameter), 0);
    if (parameter == nullptr) return kIllegalAddress;
  }
  return function.kernel(launch);
}

CUresult check_launch(const CUfunc_st& function, const HostLaunch& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads == 0 || launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return kInvalidValue;
  if (threads > 1024) return kInvalidValue;
  return launch.block_memory > static_cast<std::uint32_t>(function.dynamic_memory) ? kInvalidValue : kSuccess;
}

HostLaunch make_launch(const CUfunc_st& function, const CUDA_KERNEL_NODE_PARAMS_v2& p) {
  HostLaunch launch{
      {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, {}};
  for (int i = 0; i < function.parameters; ++i) {
    void* value;
    std::memcpy(&value, p.kernelParams[i], sizeof value);
    launch.parameters.push_back(value);
  }
  return launch;
}

void drain(CUstream stream) {
  for (;;) {
    std::function<void()> work;
    {
      const std::lock_guard<std::mutex> guard(state->lock);
      if (stream->queue.empty()) return;
      work = std::move(stream->queue.front());
      stream->queue.pop_front();
    }
    work();
  }
}

namespace {

void put(CUstream stream, std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    stream->queue.push_back(std::move(work));
  }
  if (state->script.at_once) drain(stream);
}

}  // namespace

CUresult submit(CUstream stream, const CallScript& verdict, std::function<CUresult()> work) {
  put(stream, [stream, verdict, work = std::move(work)] {
    const CUresult result = stream->failed == kSuccess ? work() : CUresult{kSuccess};
    const std::lock_guard<std::mutex> guard(state->lock);
    if (verdict.hangs) {
      stream->hangs = true;
      stream->hang_code = verdict.hang_code;
      stream->hang_milliseconds = verdict.late_milliseconds;
    } else if (verdict.late_milliseconds > 0) {
      stream->busy_until =
          std::max(stream->busy_until, Clock::now()) + std::chrono::milliseconds(verdict.late_milliseconds);
    }
    if (result != kSuccess && stream->failed == kSuccess) stream->failed = result;
  });
  return kSuccess;
}

CUresult submit_copy(CUstream stream, char* to, const char* from, size_t bytes, const void* host) {
  bool pinned = host == nullptr;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    auto after = state->host_memory.upper_bound(host);
    if (!pinned && after != state->host_memory.begin()) {
      const Guarded& memory = std::prev(after)->second;
      pinned = static_cast<const char*>(host) < memory.data + memory.bytes;
    }
  }
  submit(stream, {}, [=] { return std::memmove(to, from, bytes), kSuccess; });
  if (!pinned) drain(stream);
  return kSuccess;
}

CUresult wait_for(CUstream stream) {
  drain(stream);
  Clock::time_point until;
  bool hangs;
  int milliseconds;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    until = stream->busy_until;
    hangs = stream->hangs;
    milliseconds = stream->hang_milliseconds;
  }
  if (hangs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    lose(stream->context, stream->hang_code);
    return stream->hang_code;
  }
  std::this_thread::sleep_until(until);
  CUresult failed;
  {
    const std::lock_guard<std::mutex> guard(state->lock);
    failed = std::exchange(stream->failed, kSuccess);
  }
  lose(stream->context, failed);
  return failed;
}

void record(CUevent event, CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  event->stream = stream;
  event->recorded = true;
  event->done = false;
}
void reach(CUevent event, CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  event->when = std::max(stream->busy_until, Clock::now());
  event->never = stream->hangs;
  event->done = true;
}

bool is_stream(CUstream stream) {
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->streams.count(stream) != 0;
}

}  // namespace whet::testing::scripted

using namespace whet;                     // NOLINT: the driver's functions are global
using namespace whet::testing;            // NOLINT
using namespace whet::testing::scripted;  // NOLINT

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  ENTER_IN_CONTEXT(cuStreamCreate);
  auto made = std::make_unique<CUstream_st>();
  made->context = current_context();
  made->maker = std::this_thread::get_id();
  *stream = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->streams[*stream] = std::move(made);
  return kSuccess;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER_IN_CONTEXT(cuStreamDestroy_v2);
  before_free();
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->streams.erase(stream) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuStreamSynchronize(CUstream stream) {
  ENTER_IN_CONTEXT(cuStreamSynchronize);
  return is_stream(stream) ? wait_for(stream) : CUresult{kInvalidHandle};
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ENTER_IN_CONTEXT(cuStreamWaitEvent);
  if (!is_stream(stream)) return kInvalidHandle;
  put(stream, [stream, event] {
    if (event->stream != nullptr) drain(event->stream);
    const std::lock_guard<std::mutex> guard(state->lock);
    stream->busy_until = std::max(stream->busy_until, event->when);
    stream->hangs = stream->hangs || event->never;
  });
  return kSuccess;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  ENTER_IN_CONTEXT(cuEventCreate);
  auto made = std::make_unique<CUevent_st>();
  *event = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->events[*event] = std::move(made);
  return kSuccess;
}

CUresult cuEventDestroy_v2(CUevent event) {
  ENTER_IN_CONTEXT(cuEventDestroy_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->events.erase(event) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER_IN_CONTEXT(cuEventRecord);
  if (!is_stream(stream)) return kInvalidHandle;
  record(event, stream);
  put(stream, [stream, event] { reach(event, stream); });
  return kSuccess;
}

CUresult cuEventQuery(CUevent event) {
  ENTER_IN_CONTEXT(cuEventQuery);
  if (event->stream != nullptr) drain(event->stream);
  const std::lock_guard<std::mutex> guard(state->lock);
  return event->never || Clock::now() < event->when ? kNotReady : kSuccess;
}

CUresult cuEventSynchronize(CUevent event) {
  ENTER_IN_CONTEXT(cuEventSynchronize);
  return event->recorded ? wait_for(event->stream) : CUresult{kSuccess};
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  ENTER_IN_CONTEXT(cuEventElapsedTime);
  if (!begin->recorded || !end->recorded) return kInvalidHandle;
  if (!begin->done || !end->done || begin->never || end->never) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
  return kSuccess;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned block_memory, CUstream stream, void** parameters,
                        void**) {
  CallScript verdict;
  if (const CUresult code = enter("cuLaunchKernel", true, &verdict); code != 0) return code;
  if (!is_stream(stream)) return kInvalidHandle;
  const HostLaunch launch = make_launch(*function, {function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                    block_memory, parameters, nullptr, nullptr, nullptr});
  if (const CUresult code = check_launch(*function, launch); code != 0) return code;
  return submit(stream, verdict, [=] { return run_kernel(*function, launch); });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  ENTER_IN_CONTEXT(cuLaunchKernelEx);
  return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                        c->sharedMemBytes, c->hStream, parameters, extra);
}

}  // extern "C"
