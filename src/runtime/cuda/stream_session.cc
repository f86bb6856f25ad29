#include "runtime/cuda/stream_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "runtime/clock.h"
#include "runtime/cuda/session_graph.h"
#include "runtime/description.h"
#include "runtime/process.h"
#include "runtime/strided_copy.h"

namespace whet {
namespace {

/// The pool of sessions on a device: the caller's thread.
int run_on_caller(whet_pool*, void (*job)(void*, std::uint32_t), void* context) {
  job(context, 0);
  return 0;
}
void no_barrier(whet_pool*, std::uint32_t) {}
void no_destroy(whet_pool*) {}
constexpr whet_pool_info kCallerInfo = {1, nullptr, 0, 0, "1 thread: kernels run on the device"};
whet_pool caller_pool = {1, 1, run_on_caller, no_barrier, no_destroy, &kCallerInfo};

// ---- Running.

CUresult launch_operation(CudaSession& s, const CudaOperation& operation) {
  if (operation.kind == CudaOperation::Kind::kernel) {
    const CUDA_KERNEL_NODE_PARAMS_v2 k = kernel_of(s, operation);
    return call_of(s).cuLaunchKernel(k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY, k.blockDimZ,
                                     k.sharedMemBytes, s.stream, k.kernelParams, nullptr);
  }
  const CUDA_MEMCPY3D_v2 c = copy_of(s, operation);
  if (c.srcMemoryType == CU_MEMORYTYPE_HOST) {
    return call_of(s).cuMemcpyHtoDAsync_v2(c.dstDevice, c.srcHost, c.WidthInBytes, s.stream);
  }
  if (c.dstMemoryType == CU_MEMORYTYPE_HOST) {
    return call_of(s).cuMemcpyDtoHAsync_v2(c.dstHost, c.srcDevice, c.WidthInBytes, s.stream);
  }
  return call_of(s).cuMemcpyDtoDAsync_v2(c.dstDevice, c.srcDevice, c.WidthInBytes, s.stream);
}

CUresult launch(CudaSession& s) {
  if (has_graph(s)) return call_of(s).cuGraphLaunch(s.graph.exec, s.stream);
  CUresult code = 0;
  for (std::uint32_t n = 0; code == 0 && n < s.operations.count; ++n) {
    code = launch_operation(s, s.operations.operation[n]);
  }
  return code;
}

int check_inputs(const CudaSession& s, whet_error* error) {
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const whet_tensor_info& info = s.model->inputs[i];
    if (s.inputs[i].data == nullptr && info.bytes != 0) return tensor_not_set(info, i, error);
  }
  return 0;
}

std::uint64_t stage_inputs(CudaSession& s) {
  const std::uint64_t begin = now_ns();
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const CudaTensor& input = s.inputs[i];
    const whet_tensor_info& info = s.model->inputs[i];
    if (input.place != CudaPlace::host || info.bytes == 0) continue;
    copy_strided(host_address(s, input), input.data, info.shape, input.strides, info.rank,
                 whet_dtype_bytes(info.dtype));
  }
  return now_ns() - begin;
}

std::uint64_t unstage_outputs(CudaSession& s) {
  const std::uint64_t begin = now_ns();
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    const CudaTensor& output = s.outputs[i];
    if (output.place != CudaPlace::host) continue;
    memcpy(output.data, host_address(s, output), static_cast<std::size_t>(s.model->outputs[i].bytes));
  }
  return now_ns() - begin;
}

/// Whether a run uses the session's pinned memory, so that the next may not begin before it has ended.
bool is_staged(const CudaSession& s) {
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    if (s.inputs[i].place == CudaPlace::host) return true;
  }
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    if (s.outputs[i].place != CudaPlace::device) return true;
  }
  return false;
}

int wait(CudaSession& s, whet_error* error) {
  if (!s.pending) return 0;
  s.pending = false;
  const CUresult code = call_of(s).cuEventSynchronize(s.done);
  if (code != 0) return failed(s, code, "run", error);
  unstage_outputs(s);
  return 0;
}

/// A run failed half-way: what was started ends before its memory is used again.
int stop(CudaSession& s, CUresult code, const char* what, whet_error* error) {
  const int result = failed(s, code, what, error);
  call_of(s).cuStreamSynchronize(s.stream);
  return result;
}

int enqueue(CudaSession& s, whet_error* error) {
  if (s.pending && (is_staged(s) || s.kinds_changed || s.pointers_changed) && wait(s, error) != 0) return -1;
  if (prepare(s, error) != 0) return -1;
  stage_inputs(s);
  CUresult code = 0;
  // The arena is one: a run on another stream comes behind the last.
  if (s.last_stream != nullptr && s.last_stream != s.stream) code = call_of(s).cuStreamWaitEvent(s.stream, s.done, 0);
  if (code == 0) code = launch(s);
  if (code == 0) code = call_of(s).cuEventRecord(s.done, s.stream);
  if (code != 0) return stop(s, code, "start", error);
  s.last_stream = s.stream;
  s.pending = true;
  return 0;
}

// ---- Profiling.

double nanoseconds_between(CudaSession& s, CUevent begin, CUevent end, CUresult* code) {
  float milliseconds = 0;
  if (*code == 0) *code = call_of(s).cuEventElapsedTime(&milliseconds, begin, end);
  return static_cast<double>(milliseconds) * 1e6;
}

void add_time(bool first, std::uint64_t ns, std::uint64_t* least, std::uint64_t* total) {
  *total += ns;
  if (first || ns < *least) *least = ns;
}

/// Steps take longer between events than without. Their times are scaled to the time of a whole run, unless that is
/// longer: copies and what runs at the same time are in it.
CUresult remember_steps(CudaSession& s, bool first) {
  CUresult code = 0;
  const std::uint32_t steps = s.profile.steps;
  const double whole = nanoseconds_between(s, s.begin_end[0], s.begin_end[1], &code);
  const double sum = nanoseconds_between(s, s.step_events[0], s.step_events[steps], &code);
  const double scale = sum > whole && sum > 0 ? whole / sum : 1;
  for (std::uint32_t i = 0; code == 0 && i < steps; ++i) {
    const double ns = nanoseconds_between(s, s.step_events[i], s.step_events[i + 1], &code) * scale;
    add_time(first, static_cast<std::uint64_t>(ns), &s.steps[i].min_ns, &s.steps[i].total_ns);
  }
  return code;
}

/// A run as without profiling, timed, then all steps again between events.
int run_profiled(CudaSession& s, whet_error* error) {
  if (wait(s, error) != 0 || prepare(s, error) != 0) return -1;
  const std::uint64_t begin = now_ns();
  std::uint64_t copies = stage_inputs(s);
  CUresult code = 0;
  if (s.last_stream != nullptr && s.last_stream != s.stream) code = call_of(s).cuStreamWaitEvent(s.stream, s.done, 0);
  if (code == 0) code = call_of(s).cuEventRecord(s.begin_end[0], s.stream);
  if (code == 0) code = launch(s);
  if (code == 0) code = call_of(s).cuEventRecord(s.begin_end[1], s.stream);
  if (code == 0) code = call_of(s).cuEventSynchronize(s.begin_end[1]);
  if (code != 0) return stop(s, code, "run", error);
  copies += unstage_outputs(s);
  const std::uint64_t whole = now_ns() - begin;

  code = call_of(s).cuGraphLaunch(s.profile_graph.exec, s.stream);
  if (code == 0) code = call_of(s).cuEventRecord(s.done, s.stream);
  if (code == 0) code = call_of(s).cuEventSynchronize(s.done);
  const bool first = s.profile.runs == 0;
  if (code == 0) code = remember_steps(s, first);
  if (code != 0) return stop(s, code, "profile", error);
  s.last_stream = s.stream;
  ++s.profile.runs;
  add_time(first, whole, &s.profile.min_ns, &s.profile.total_ns);
  add_time(first, copies, &s.profile.copy_min_ns, &s.profile.copy_total_ns);
  return 0;
}

int start(CudaSession& s, whet_error* error) {
  if (check_inputs(s, error) != 0) return -1;
  return s.profiling ? run_profiled(s, error) : enqueue(s, error);
}

/// Runs `work` with the context current, as the one thread that uses the session.
template <typename Work>
int alone(CudaSession* s, whet_error* error, Work work) {
  if (check_usable(*s->model, error) != 0) return -1;
  if (!s->running.begin()) {
    return whet_fail(error, "the session is already running in another thread; expected one session a thread");
  }
  int result;
  {
    const CurrentContext current(s->model->context);
    result = current.code() == 0 ? work(*s) : failed(*s, current.code(), "make a context current for", error);
  }
  s->running.end();
  return result;
}

// ---- Making a session.

void describe_steps(CudaSession& s) {
  for (std::uint32_t i = 0; i < s.model->info.steps; ++i) {
    const PlanStep& step = view_of(s).steps[i];
    s.steps[i] = {
        view_of(s).text(step.node), view_of(s).text(step.op), step.flops, step.bytes, step.predicted_seconds, 0, 0, 1};
  }
  s.profile.steps = s.model->info.steps;
  s.profile.step = s.steps;
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

/// The device's and the host's memory of all inputs and outputs; adds to both sums.
void place_tensors(CudaTensor* tensors, const whet_tensor_info* infos, std::uint32_t count, std::uint64_t* device,
                   std::uint64_t* host) {
  for (std::uint32_t i = 0; i < count; ++i) {
    tensors[i].device_offset = *device;
    tensors[i].host_offset = *host;
    *device += aligned(static_cast<std::uint64_t>(infos[i].bytes));
    *host += aligned(static_cast<std::uint64_t>(infos[i].bytes));
  }
}

std::uint32_t most_parameters(const ModelView& view) {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < view.header->launches.count; ++i) {
    if (view.launches[i].argument_count > most) most = view.launches[i].argument_count;
  }
  return most + 1;  // the workspace
}

int allocate_lists(CudaSession& s, whet_error* error) {
  const PlanHeader& h = *view_of(s).header;
  const std::uint64_t operations = std::uint64_t{h.inputs.count} + h.steps.count + h.launches.count + h.outputs.count;
  s.uploaded = zeroed<bool>(h.inputs.count);
  s.downloaded = zeroed<bool>(h.outputs.count);
  s.inputs = zeroed<CudaTensor>(h.inputs.count);
  s.outputs = zeroed<CudaTensor>(h.outputs.count);
  s.addresses = zeroed<CUdeviceptr>(h.arguments.count);
  s.set_addresses = zeroed<CUdeviceptr>(h.arguments.count);
  s.workspaces = zeroed<CUdeviceptr>(h.steps.count);
  s.parameters = zeroed<void*>(most_parameters(view_of(s)));
  s.before = zeroed<CUgraphNode>(operations);
  s.graph.nodes = zeroed<CUgraphNode>(operations);
  s.profile_graph.nodes = zeroed<CUgraphNode>(operations);
  s.steps = zeroed<whet_step_profile>(h.steps.count);
  const bool memory = s.uploaded && s.downloaded && s.inputs && s.outputs && s.addresses && s.set_addresses &&
                      s.workspaces && s.parameters && s.before && s.graph.nodes && s.profile_graph.nodes && s.steps;
  return memory ? 0 : whet_fail(error, "no memory for a session");
}

int allocate(CudaSession& s, whet_error* error) {
  const PlanHeader& header = *view_of(s).header;
  std::uint64_t device = aligned(header.arena_bytes), host = 0;
  place_tensors(s.inputs, s.model->inputs, header.inputs.count, &device, &host);
  place_tensors(s.outputs, s.model->outputs, header.outputs.count, &device, &host);
  if (allocate_cuda_memory(s.model->context, device, "the arena", &s.memory, error) != 0) return -1;
  void* pinned = nullptr;
  CUresult code = call_of(s).cuMemAllocHost_v2(&pinned, host > 0 ? host : 1);
  s.host = static_cast<char*>(pinned);
  if (code == 0) code = call_of(s).cuStreamCreate(&s.own_stream, CU_STREAM_NON_BLOCKING);
  if (code == 0) code = call_of(s).cuEventCreate(&s.done, CU_EVENT_DISABLE_TIMING);
  if (code != 0) return failed(s, code, "make a session of", error);
  s.stream = s.own_stream;
  for (std::uint32_t i = 0; i < header.steps.count; ++i) {
    s.workspaces[i] = s.memory + view_of(s).steps[i].workspace_offset;
  }
  return 0;
}

/// Compares "cuda -arch=sm_90 -sms=132" with the device.
void write_note(CudaSession& s) {
  const CudaDeviceInfo& device = s.model->context.info;
  char arch[24], sms[24];
  snprintf(arch, sizeof arch, "-arch=sm_%d", device.arch);
  snprintf(sms, sizeof sms, "-sms=%d", device.multiprocessors);
  if (strstr(s.model->info.target, arch) != nullptr && strstr(s.model->info.target, sms) != nullptr) return;
  snprintf(s.note, sizeof s.note,
           "tuned for \"%s\", running on %.96s (sm_%d, %d multiprocessors): re-tune there for the best times",
           s.model->info.target, device.name, device.arch, device.multiprocessors);
}

int fill(CudaSession& s, whet_error* error) {
  if (find_step_order(view_of(s), (s.model->flags & WHET_DEVICE_CHAIN) != 0, &s.order, error) != 0) return -1;
  if (allocate_lists(s, error) != 0) return -1;
  describe_steps(s);
  write_note(s);
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) s.inputs[i].place = CudaPlace::host;
  s.kinds_changed = true;
  return alone(&s, error, [&](CudaSession&) { return allocate(s, error) != 0 ? -1 : prepare(s, error); });
}

void free_on_device(CudaSession& s) {
  const CurrentContext current(s.model->context);
  if (s.pending) call_of(s).cuEventSynchronize(s.done);
  destroy_graph(s, &s.graph);
  destroy_graph(s, &s.profile_graph);
  for (std::uint32_t i = 0; s.step_events != nullptr && i <= view_of(s).header->steps.count; ++i) {
    if (s.step_events[i] != nullptr) call_of(s).cuEventDestroy_v2(s.step_events[i]);
  }
  for (int i = 0; s.begin_end != nullptr && i < 2; ++i) {
    if (s.begin_end[i] != nullptr) call_of(s).cuEventDestroy_v2(s.begin_end[i]);
  }
  if (s.done != nullptr) call_of(s).cuEventDestroy_v2(s.done);
  if (s.own_stream != nullptr) call_of(s).cuStreamDestroy_v2(s.own_stream);
  if (s.host != nullptr) call_of(s).cuMemFreeHost(s.host);
  if (s.memory != 0) call_of(s).cuMemFree_v2(s.memory);
}

// ---- Inputs and outputs.

/// Puts new memory in the place of the old and notes what has to change.
void set_tensor(CudaSession& s, CudaTensor& tensor, CudaPlace place, void* data) {
  const bool was_in_place = tensor.in_place();
  const CudaPlace was = tensor.place;
  tensor.place = place;
  tensor.data = data;
  const auto is_host = [](CudaPlace p) { return p != CudaPlace::device; };
  if (is_host(was) != is_host(place) || was_in_place != tensor.in_place()) s.kinds_changed = true;
  s.pointers_changed = true;
}

/// Asks the driver whether a pointer is to memory of the session's device.
int look_up_pointer(const CudaSession& s, CUdeviceptr pointer, bool* on_device, whet_error* error) {
  constexpr CUresult kInvalidValue = 1;  // an unknown pointer
  const CurrentContext current(s.model->context);
  unsigned kind = 0;
  int ordinal = -1;
  CUresult code = current.code();
  if (code != 0) return failed(s, code, "make a context current for", error);
  code = call_of(s).cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (code == 0) code = call_of(s).cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  *on_device = code == 0 && kind == CU_MEMORYTYPE_DEVICE && ordinal == s.model->context.info.number;
  return code == 0 || code == kInvalidValue ? 0 : failed(s, code, "look up a pointer for", error);
}

/// The place of a DLPack tensor, and whether the session can use it there.
int place_of(const CudaSession& s, const char* what, const whet_tensor_info& info, std::uint32_t i,
             const whet_dltensor& tensor, bool strided_host, CudaPlace* place, whet_error* error) {
  char found[224];
  const std::int32_t type = tensor.device.device_type;
  const CudaDeviceInfo& device = s.model->context.info;
  *place = type == kDlCuda ? CudaPlace::device : type == kDlCudaHost ? CudaPlace::pinned : CudaPlace::host;
  if (type != kDlCpu && type != kDlCuda && type != kDlCudaHost) {
    snprintf(found, sizeof found, "the DLPack tensor is on device type %d; expected 1 (CPU), 2 (CUDA) or 3 (pinned)",
             type);
    return refuse_tensor(what, info, i, found, error);
  }
  if (check_dlpack(what, info, i, tensor, error) != 0) return -1;
  std::int64_t strides[kMaxRank];
  read_dlpack_strides(info, tensor, strides);
  const bool contiguous = is_contiguous(info.shape, strides, info.rank, whet_dtype_bytes(info.dtype));
  if (!contiguous && (type == kDlCuda || !strided_host)) {
    return refuse_tensor(what, info, i, "the DLPack tensor is not contiguous", error);
  }
  if (!contiguous) *place = CudaPlace::host;
  if (type != kDlCuda) return 0;
  bool known = true;
  if (info.bytes != 0 && look_up_pointer(s, reinterpret_cast<CUdeviceptr>(dlpack_data(tensor)), &known, error) != 0) {
    return -1;
  }
  if (known && tensor.device.device_id == device.number) return 0;
  snprintf(found, sizeof found, "the DLPack tensor is on cuda:%d%s; expected memory of cuda:%d (%.96s)",
           tensor.device.device_id, known ? "" : ", where its pointer is unknown", device.number, device.name);
  return refuse_tensor(what, info, i, found, error);
}

}  // namespace

int cuda_session_create(CudaModel* model, whet_pool* pool, CudaSession** out, whet_error* error) {
  *out = nullptr;
  if (check_usable(*model, error) != 0) return -1;
  void* memory = calloc(1, sizeof(CudaSession));
  if (memory == nullptr) return whet_fail(error, "no memory for a session");
  CudaSession* s = new (memory) CudaSession();
  s->model = model;
  s->pool = pool != nullptr ? pool : &caller_pool;
  if (fill(*s, error) != 0) {
    cuda_session_destroy(s);
    return -1;
  }
  *out = s;
  return 0;
}

void cuda_session_destroy(CudaSession* s) {
  if (s == nullptr) return;
  // A child after fork() may not call the driver: what is on the device is the parent's.
  if (s->model->process == process_number()) free_on_device(*s);
  free_step_order(&s->order);
  free_operations(&s->operations);
  for (void* list :
       {static_cast<void*>(s->uploaded), static_cast<void*>(s->downloaded), static_cast<void*>(s->inputs),
        static_cast<void*>(s->outputs), static_cast<void*>(s->addresses), static_cast<void*>(s->set_addresses),
        static_cast<void*>(s->workspaces), static_cast<void*>(s->parameters), static_cast<void*>(s->before),
        static_cast<void*>(s->graph.nodes), static_cast<void*>(s->profile_graph.nodes),
        static_cast<void*>(s->begin_end), static_cast<void*>(s->step_events), static_cast<void*>(s->steps)}) {
    free(list);
  }
  s->~CudaSession();
  free(s);
}

whet_pool* cuda_session_pool(const CudaSession* s) { return s->pool; }

const char* cuda_session_note(const CudaSession* s) { return s->note; }

int cuda_session_set_input(CudaSession* s, std::uint32_t i, const void* data, const std::int64_t* strides,
                           whet_error* error) {
  if (i >= s->model->info.inputs) return no_such_tensor("input", i, s->model->info.inputs, error);
  const whet_tensor_info& info = s->model->inputs[i];
  if (data == nullptr && info.bytes != 0) return refuse_tensor("input", info, i, "the pointer given is null", error);
  write_strides(info, s->inputs[i].strides);
  for (std::uint32_t d = 0; strides != nullptr && d < info.rank; ++d) s->inputs[i].strides[d] = strides[d];
  set_tensor(*s, s->inputs[i], CudaPlace::host, const_cast<void*>(data));
  return 0;
}

int cuda_session_set_input_dlpack(CudaSession* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.inputs) return no_such_tensor("input", i, s->model->info.inputs, error);
  const whet_tensor_info& info = s->model->inputs[i];
  CudaPlace place;
  if (check_usable(*s->model, error) != 0 || place_of(*s, "input", info, i, *tensor, true, &place, error) != 0)
    return -1;
  const void* data = dlpack_data(*tensor);
  if (data == nullptr && info.bytes != 0) return refuse_tensor("input", info, i, "the pointer given is null", error);
  read_dlpack_strides(info, *tensor, s->inputs[i].strides);
  set_tensor(*s, s->inputs[i], place, const_cast<void*>(data));
  return 0;
}

int cuda_session_bind_output(CudaSession* s, std::uint32_t i, void* data, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  // What was started writes to the memory that was bound when it was started.
  if (s->pending && cuda_session_wait(s, error) != 0) return -1;
  set_tensor(*s, s->outputs[i], data != nullptr ? CudaPlace::host : CudaPlace::none, data);
  return 0;
}

int cuda_session_bind_output_dlpack(CudaSession* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  if (tensor == nullptr) return cuda_session_bind_output(s, i, nullptr, error);
  const whet_tensor_info& info = s->model->outputs[i];
  CudaPlace place;
  if (check_usable(*s->model, error) != 0 || place_of(*s, "output", info, i, *tensor, false, &place, error) != 0)
    return -1;
  if (s->pending && cuda_session_wait(s, error) != 0) return -1;
  const void* data = dlpack_data(*tensor);
  if (data == nullptr && info.bytes != 0) return refuse_tensor("output", info, i, "the pointer given is null", error);
  set_tensor(*s, s->outputs[i], place, const_cast<void*>(data));
  return 0;
}

int cuda_session_enqueue(CudaSession* s, whet_error* error) {
  return alone(s, error, [&](CudaSession& session) { return start(session, error); });
}

int cuda_session_wait(CudaSession* s, whet_error* error) {
  return alone(s, error, [&](CudaSession& session) { return wait(session, error); });
}

int cuda_session_run(CudaSession* s, whet_error* error) {
  return alone(s, error, [&](CudaSession& session) { return start(session, error) != 0 ? -1 : wait(session, error); });
}

const void* cuda_session_output(const CudaSession* s, std::uint32_t i) {
  if (i >= s->model->info.outputs) return nullptr;
  const CudaTensor& output = s->outputs[i];
  if (output.place == CudaPlace::device) return nullptr;
  return output.place == CudaPlace::none ? s->host + output.host_offset : output.data;
}

int cuda_session_output_dlpack(const CudaSession* s, std::uint32_t i, whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  const CudaTensor& output = s->outputs[i];
  void* data =
      output.place == CudaPlace::device ? output.data : reinterpret_cast<void*>(s->memory + output.device_offset);
  *tensor = dlpack_of(s->model->outputs[i], data, kDlCuda, s->model->context.info.number);
  return 0;
}

void cuda_session_set_profiling(CudaSession* s, int on) {
  s->profiling = on != 0;
  if (!s->profiling) return;
  s->profile = whet_profile{};
  describe_steps(*s);
}

void cuda_session_profile(CudaSession* s, whet_profile* profile) { *profile = s->profile; }

int cuda_session_set_stream(CudaSession* s, void* stream, whet_error* error) {
  if (check_usable(*s->model, error) != 0) return -1;
  s->stream = stream != nullptr ? static_cast<CUstream>(stream) : s->own_stream;
  return 0;
}

void cuda_session_take_over(CudaSession* s, const CudaSession* from) {
  for (std::uint32_t i = 0; i < s->model->info.inputs; ++i) {
    write_strides(s->model->inputs[i], s->inputs[i].strides);
    set_tensor(*s, s->inputs[i], from->inputs[i].place, from->inputs[i].data);
  }
  for (std::uint32_t i = 0; i < s->model->info.outputs; ++i)
    set_tensor(*s, s->outputs[i], from->outputs[i].place, from->outputs[i].data);
  s->stream = from->stream == from->own_stream ? s->own_stream : from->stream;
  cuda_session_set_profiling(s, from->profiling);
}

}  // namespace whet
