#include "runtime/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "runtime/clock.h"
#include "runtime/cpu/walk.h"
#include "runtime/description.h"
#include "runtime/memory.h"
#include "runtime/process.h"
#include "runtime/strided_copy.h"

namespace whet {
namespace {

struct Input {
  const void* data;                // the caller's; null until set
  std::int64_t strides[kMaxRank];  // bytes
  bool copied;                     // not contiguous or not aligned: `own` is what kernels read
  Pages own;
};

struct Output {
  void* bound;  // the caller's, or null
  bool copied;  // bound but not aligned: kernels write `own`
  Pages own;
};

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kPlanAlignment == 0; }

}  // namespace
}  // namespace whet

struct whet_session {
  whet_model* model;
  whet_pool* pool;
  char* arena;
  whet::Pages own_scratch;  // the arena, then a workspace a worker, where the pool lends no memory
  whet::PlanWalk walk;
  whet::Input* inputs;
  whet::Output* outputs;
  bool buffers_stale;
  char note[192];
  whet::InUse running;

  bool profiling;
  whet_step_profile* steps;
  whet_profile profile;
};

namespace whet {
namespace {

using Wide = unsigned long long;

const ModelView& view_of(const whet_session& s) { return s.model->view; }

template <typename T>
T* zeroed(std::uint64_t count) {
  return static_cast<T*>(calloc(count + 1, sizeof(T)));
}

// ---- Buffers.

void* input_pointer(const Input& input) { return input.copied ? input.own.data : const_cast<void*>(input.data); }

void* output_pointer(const Output& output) {
  return output.bound != nullptr && !output.copied ? output.bound : output.own.data;
}

char* place(const whet_session& s, const PlanArgument& a) {
  switch (a.place) {
    case PlanPlace::arena:
      return s.arena;
    case PlanPlace::weights:
      return const_cast<char*>(s.model->weights);
    case PlanPlace::input:
      return static_cast<char*>(input_pointer(s.inputs[a.index]));
    case PlanPlace::output:
      return static_cast<char*>(output_pointer(s.outputs[a.index]));
  }
  return nullptr;
}

void point_buffers(whet_session& s) {
  for (std::uint32_t i = 0; i < view_of(s).header->arguments.count; ++i) {
    const PlanArgument& a = view_of(s).arguments[i];
    s.walk.buffers[i] = place(s, a) + a.offset;
  }
  s.buffers_stale = false;
}

int make_pages(Pages* pages, std::uint64_t bytes, const char* what, whet_error* error) {
  if (pages->ok()) return 0;
  *pages = allocate_pages(bytes);
  return pages->ok() ? 0 : whet_fail(error, "no memory for %llu bytes of %s", Wide(bytes), what);
}

int prepare(whet_session& s, whet_error* error) {
  if (!s.buffers_stale) return 0;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const whet_tensor_info& info = s.model->inputs[i];
    if (s.inputs[i].data == nullptr && info.bytes != 0) {
      return tensor_not_set(info, i, error);
    }
    if (s.inputs[i].copied &&
        make_pages(&s.inputs[i].own, static_cast<std::uint64_t>(info.bytes), "an input's copy", error) != 0) {
      return -1;
    }
  }
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    Output& output = s.outputs[i];
    if ((output.bound == nullptr || output.copied) &&
        make_pages(&output.own, static_cast<std::uint64_t>(s.model->outputs[i].bytes), "an output", error) != 0) {
      return -1;
    }
  }
  point_buffers(s);
  return 0;
}

std::uint64_t copy_inputs(whet_session& s) {
  std::uint64_t spent = 0;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const Input& input = s.inputs[i];
    const whet_tensor_info& info = s.model->inputs[i];
    if (!input.copied) continue;
    const std::uint64_t before = now_ns();
    copy_strided(input.own.data, input.data, info.shape, input.strides, info.rank, whet_dtype_bytes(info.dtype));
    spent += now_ns() - before;
  }
  return spent;
}

std::uint64_t copy_outputs(whet_session& s) {
  std::uint64_t spent = 0;
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    const Output& output = s.outputs[i];
    if (!output.copied) continue;
    const std::uint64_t before = now_ns();
    memcpy(output.bound, output.own.data, static_cast<std::size_t>(s.model->outputs[i].bytes));
    spent += now_ns() - before;
  }
  return spent;
}

void remember_times(whet_session& s, std::uint64_t whole, std::uint64_t copies) {
  const bool first = s.profile.runs++ == 0;
  const auto add = [first](std::uint64_t ns, std::uint64_t* least, std::uint64_t* total) {
    *total += ns;
    if (first || ns < *least) *least = ns;
  };
  add(whole, &s.profile.min_ns, &s.profile.total_ns);
  add(copies, &s.profile.copy_min_ns, &s.profile.copy_total_ns);
  for (std::uint32_t i = 0; i < s.profile.steps; ++i) add(s.walk.step_ns[i], &s.steps[i].min_ns, &s.steps[i].total_ns);
}

int run(whet_session& s, whet_error* error) {
  if (prepare(s, error) != 0) return -1;
  const std::uint64_t begin = s.profiling ? now_ns() : 0;
  std::uint64_t copies = copy_inputs(s);
  if (const int failure = walk_plan(s.walk, s.profiling); failure != 0) {
    return whet_fail(error, "cannot start the pool's threads again after fork: %s", strerror(failure));
  }
  copies += copy_outputs(s);
  if (s.profiling) remember_times(s, now_ns() - begin, copies);
  if (const std::uint64_t failure = s.walk.failure.load(std::memory_order_relaxed); failure != 0) {
    const std::uint32_t step = static_cast<std::uint32_t>(failure >> 32) - 1;
    return whet_fail(error, "step %u (%s: %s) reported error %d", step, s.steps[step].node, s.steps[step].op,
                     static_cast<std::int32_t>(failure & 0xffffffffu));
  }
  return 0;
}

// ---- Making a session.

void describe_steps(whet_session& s) {
  for (std::uint32_t i = 0; i < s.model->info.steps; ++i) {
    const PlanStep& step = view_of(s).steps[i];
    s.steps[i] = {view_of(s).text(step.node),
                  view_of(s).text(step.op),
                  step.flops,
                  step.bytes,
                  step.predicted_seconds,
                  0,
                  0,
                  (step.flags & kStepParallel) != 0};
  }
  s.profile.steps = s.model->info.steps;
  s.profile.step = s.steps;
}

/// An arena, and behind it a workspace a worker.
int find_scratch(whet_session& s, std::uint64_t arena_bytes, std::uint64_t workspaces_bytes, whet_error* error) {
  const std::uint64_t bytes = (arena_bytes + 63) / 64 * 64 + workspaces_bytes;
  if (bytes < arena_bytes) {
    s.arena = nullptr;
  } else if (pool_has_scratch(s.pool)) {
    s.arena = static_cast<char*>(s.pool->scratch(s.pool, bytes));
  } else {
    s.own_scratch = allocate_pages(static_cast<std::size_t>(bytes));
    s.arena = static_cast<char*>(s.own_scratch.data);
  }
  return s.arena != nullptr ? 0 : whet_fail(error, "no memory for %llu bytes of activations", Wide(arena_bytes));
}

int allocate(whet_session& s, whet_error* error) {
  const PlanHeader& header = *view_of(s).header;
  std::uint64_t workspace = 0;
  for (std::uint32_t i = 0; i < header.steps.count; ++i) {
    if (view_of(s).steps[i].worker_bytes > workspace) workspace = view_of(s).steps[i].worker_bytes;
  }
  // Three lines apart, so that the workers' pieces do not share cache sets.
  s.walk.workspace_stride = (workspace + 63) / 64 * 64 + 192;
  s.walk.buffers = zeroed<void*>(header.arguments.count);
  s.inputs = zeroed<Input>(header.inputs.count);
  s.outputs = zeroed<Output>(header.outputs.count);
  s.walk.step_ns = zeroed<std::uint64_t>(header.steps.count);
  s.steps = zeroed<whet_step_profile>(header.steps.count);
  s.walk.first_step = zeroed<std::uint32_t>(header.steps.count);
  s.walk.kinds = zeroed<std::uint8_t>(header.steps.count);
  if (!s.walk.buffers || !s.walk.first_step || !s.walk.kinds || !s.inputs || !s.outputs || !s.walk.step_ns || !s.steps)
    return whet_fail(error, "no memory for a session");
  if (find_scratch(s, header.arena_bytes, s.walk.workspace_stride * s.pool->workers, error) != 0) return -1;
  s.walk.view = &s.model->view;
  s.walk.entries = s.model->image.entries;
  s.walk.pool = s.pool;
  s.walk.arena = s.arena;
  s.walk.worker_workspaces = s.arena + (header.arena_bytes + 63) / 64 * 64;
  describe_work(s.walk);
  return 0;
}

void write_note(whet_session& s) {
  const std::uint32_t tuned = s.model->info.tuned_threads;
  if (s.pool->workers == tuned) return;
  snprintf(s.note, sizeof s.note,
           "tuned for %u threads, running with %u: expect up to 10%% from the best; re-tune with --threads %u", tuned,
           s.pool->workers, s.pool->workers);
}

int check_device(const whet_tensor_info& info, std::uint32_t i, const whet_dltensor& tensor, whet_error* error) {
  const std::int32_t type = tensor.device.device_type;
  if (type == kDlCpu || type == kDlCudaHost) return 0;
  char found[96];
  snprintf(found, sizeof found, "the DLPack tensor is on device type %d; expected 1 (CPU)", type);
  return refuse_tensor("input", info, i, found, error);
}

}  // namespace

int session_create(whet_model* model, whet_pool* pool, whet_session** out, whet_error* error) {
  *out = nullptr;
  if (pool == nullptr && model_own_pool(model, &pool, error) != 0) return -1;
  void* memory = calloc(1, sizeof(whet_session));
  if (memory == nullptr) return whet_fail(error, "no memory for a session");
  whet_session* s = new (memory) whet_session();
  s->model = model;
  s->pool = pool;
  s->buffers_stale = true;
  if (allocate(*s, error) != 0) {
    session_destroy(s);
    return -1;
  }
  describe_steps(*s);
  write_note(*s);
  *out = s;
  return 0;
}

void session_destroy(whet_session* s) {
  if (s == nullptr) return;
  for (std::uint32_t i = 0; s->inputs != nullptr && i < s->model->info.inputs; ++i) free_pages(&s->inputs[i].own);
  for (std::uint32_t i = 0; s->outputs != nullptr && i < s->model->info.outputs; ++i) free_pages(&s->outputs[i].own);
  free_pages(&s->own_scratch);
  free(s->walk.buffers);
  free(s->walk.first_step);
  free(s->walk.kinds);
  free(s->inputs);
  free(s->outputs);
  free(s->walk.step_ns);
  free(s->steps);
  s->~whet_session();
  free(s);
}

whet_pool* session_pool(const whet_session* s) { return s->pool; }

const char* session_note(const whet_session* s) { return s->note; }

int session_set_input(whet_session* s, std::uint32_t i, const void* data, const std::int64_t* strides,
                      whet_error* error) {
  if (i >= s->model->info.inputs) return no_such_tensor("input", i, s->model->info.inputs, error);
  const whet_tensor_info& info = s->model->inputs[i];
  const std::int64_t element = whet_dtype_bytes(info.dtype);
  if (data == nullptr && info.bytes != 0) return refuse_tensor("input", info, i, "the pointer given is null", error);
  s->buffers_stale = true;  // first: another thread may fork in the middle
  Input& input = s->inputs[i];
  write_strides(info, input.strides);
  for (std::uint32_t d = 0; strides != nullptr && d < info.rank; ++d) input.strides[d] = strides[d];
  input.data = data;
  input.copied = !is_aligned(data) || !is_contiguous(info.shape, input.strides, info.rank, element);
  return 0;
}

int session_set_input_dlpack(whet_session* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.inputs) return no_such_tensor("input", i, s->model->info.inputs, error);
  const whet_tensor_info& info = s->model->inputs[i];
  if (check_device(info, i, *tensor, error) != 0 || check_dlpack("input", info, i, *tensor, error) != 0) return -1;
  std::int64_t strides[kMaxRank];
  read_dlpack_strides(info, *tensor, strides);
  return session_set_input(s, i, dlpack_data(*tensor), strides, error);
}

int session_bind_output(whet_session* s, std::uint32_t i, void* data, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  s->buffers_stale = true;
  s->outputs[i].bound = data;
  s->outputs[i].copied = data != nullptr && !is_aligned(data);
  return 0;
}

int session_run(whet_session* s, whet_error* error) {
  if (!s->running.begin()) {
    return whet_fail(error, "the session is already running in another thread; expected one session a thread");
  }
  const int result = run(*s, error);
  s->running.end();
  return result;
}

const void* session_output(const whet_session* s, std::uint32_t i) {
  if (i >= s->model->info.outputs) return nullptr;
  const Output& output = s->outputs[i];
  return output.bound != nullptr ? output.bound : output.own.data;
}

int session_output_dlpack(const whet_session* s, std::uint32_t i, whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  *tensor = dlpack_of(s->model->outputs[i], const_cast<void*>(session_output(s, i)), kDlCpu, 0);
  return 0;
}

void session_set_profiling(whet_session* s, int on) {
  s->profiling = on != 0;
  if (!s->profiling) return;
  s->profile = whet_profile{};
  describe_steps(*s);
}

void session_profile(whet_session* s, whet_profile* profile) { *profile = s->profile; }

}  // namespace whet
