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
  std::int64_t strides[kMaxRank];  // bytes; of a contiguous one they are not asked
  bool contiguous;
  bool copied;  // not contiguous or not aligned: `own` is what kernels read
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
  std::int64_t sizes[whet::kMaxSizes];  // that are set
  const whet::ModelVariant* at;         // the variant that has them: one of the model's,
  whet::VariantAt made[2];              // or one of these, whose plans change with the sizes; the other is made next
  const whet::ModelVariant* walked;     // what `walk` describes; null: nothing, or with another arena
  char* arena;                          // and behind it a workspace a worker
  std::uint64_t scratch_bytes;          // of both
  whet::Pages own_scratch;              // these, where the pool lends no memory
  whet::PlanWalk walk;
  whet::Input* inputs;
  whet::Output* outputs;
  bool buffers_stale;
  bool outputs_stale;  // of the shapes before: they have no memory of these
  char note[192];
  whet::InUse running;

  bool profiling;
  whet_step_profile* steps;
  whet_profile profile;
};

namespace whet {
namespace {

using Wide = unsigned long long;

const ModelView& view_of(const whet_session& s) { return s.at->view; }

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
    case PlanPlace::sizes:
      return s.at->sizes;
  }
  return nullptr;
}

void point_buffers(whet_session& s) {
  for (std::uint32_t i = 0; i < view_of(s).header->arguments.count; ++i) {
    const PlanArgument& a = view_of(s).arguments[i];
    s.walk.buffers[i] = place(s, a) + a.offset;
  }
  s.buffers_stale = false;
  s.outputs_stale = false;
}

/// Pages that were never so large; what was in them is lost.
int make_pages(Pages* pages, std::int64_t bytes, const char* what, whet_error* error) {
  const std::size_t needed = static_cast<std::size_t>(bytes);
  if (pages->ok() && pages->bytes >= needed) return 0;
  const Pages larger = allocate_pages(needed);
  if (!larger.ok()) return whet_fail(error, "no memory for %llu bytes of %s", Wide{needed}, what);
  Pages smaller = *pages;
  *pages = larger;  // whole: another thread may fork in the middle
  free_pages(&smaller);
  return 0;
}

int make_input_copy(whet_session& s, std::uint32_t i, const ModelVariant& at, whet_error* error) {
  return make_pages(&s.inputs[i].own, at.inputs[i].bytes, "an input's copy", error);
}
int make_output(whet_session& s, std::uint32_t i, const ModelVariant& at, whet_error* error) {
  return make_pages(&s.outputs[i].own, at.outputs[i].bytes, "an output", error);
}

std::uint64_t rounded_arena(const ModelVariant& at) { return (at.view.header->arena_bytes + 63) / 64 * 64; }
/// Three lines apart, so that the workers' pieces do not share cache sets.
std::uint64_t workspace_stride(const ModelVariant& at) { return (at.worker_bytes + 63) / 64 * 64 + 192; }

/// An arena, and behind it a workspace a worker: larger ones, where they were never so large.
int find_scratch(whet_session& s, const ModelVariant& at, whet_error* error) {
  const std::uint64_t arena_bytes = at.view.header->arena_bytes;
  const std::uint64_t bytes = rounded_arena(at) + workspace_stride(at) * s.pool->workers;
  if (s.arena != nullptr && bytes >= arena_bytes && bytes <= s.scratch_bytes) return 0;
  char* found = nullptr;
  Pages own{};
  if (bytes >= arena_bytes && pool_has_scratch(s.pool)) {
    found = static_cast<char*>(s.pool->scratch(s.pool, bytes));
  } else if (bytes >= arena_bytes) {
    own = allocate_pages(static_cast<std::size_t>(bytes));
    found = static_cast<char*>(own.data);
  }
  if (found == nullptr) return whet_fail(error, "no memory for %llu bytes of activations", Wide(arena_bytes));
  s.walked = nullptr;
  s.buffers_stale = true;
  s.arena = found;
  s.scratch_bytes = bytes;
  Pages smaller = s.own_scratch;
  s.own_scratch = own;
  free_pages(&smaller);
  return 0;
}

/// Makes the walk that of the sizes that are set.
void describe_walk(whet_session& s) {
  if (s.walked == s.at) return;
  s.walked = nullptr;  // first: another thread may fork in the middle
  s.walk.view = &s.at->view;
  s.walk.arena = s.arena;
  s.walk.worker_workspaces = s.arena + rounded_arena(*s.at);
  s.walk.workspace_stride = workspace_stride(*s.at);
  describe_work(s.walk);
  s.walked = s.at;
}

int prepare(whet_session& s, whet_error* error) {
  if (!s.buffers_stale) return 0;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const whet_tensor_info& info = s.at->inputs[i];
    if (s.inputs[i].data == nullptr && info.bytes != 0) {
      return tensor_not_set(info, i, error);
    }
    if (s.inputs[i].copied && make_input_copy(s, i, *s.at, error) != 0) return -1;
  }
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    const Output& output = s.outputs[i];
    if ((output.bound == nullptr || output.copied) && make_output(s, i, *s.at, error) != 0) return -1;
  }
  describe_walk(s);
  point_buffers(s);
  return 0;
}

std::uint64_t copy_inputs(whet_session& s) {
  std::uint64_t spent = 0;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    const Input& input = s.inputs[i];
    const whet_tensor_info& info = s.at->inputs[i];
    if (!input.copied) continue;
    const std::uint64_t before = now_ns();
    if (input.contiguous)
      memcpy(input.own.data, input.data, static_cast<std::size_t>(info.bytes));
    else
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
    memcpy(output.bound, output.own.data, static_cast<std::size_t>(s.at->outputs[i].bytes));
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

int walk_steps(whet_session& s) {
  const PagesInUse weights(s.model->own_weights.watched);
  return walk_plan(s.walk, s.profiling);
}

int run(whet_session& s, whet_error* error) {
  if (prepare(s, error) != 0 || check_weights(s.model->own_weights, error) != 0) return -1;
  const std::uint64_t begin = s.profiling ? now_ns() : 0;
  std::uint64_t copies = copy_inputs(s);
  if (const int failure = walk_steps(s); failure != 0) {
    return whet_fail(error, "cannot start the pool's threads again after fork: %s", strerror(failure));
  }
  if (check_weights(s.model->own_weights, error) != 0) return -1;  // cut meanwhile: the answers are none
  copies += copy_outputs(s);
  if (s.profiling) remember_times(s, now_ns() - begin, copies);
  if (const std::uint64_t failure = s.walk.failure.load(std::memory_order_relaxed); failure != 0) {
    const std::uint32_t step = static_cast<std::uint32_t>(failure >> 32) - 1;
    const PlanStep& failed = view_of(s).steps[step];
    return whet_fail(error, "step %u (%s: %s) reported error %d", step, view_of(s).text(failed.node),
                     view_of(s).text(failed.op), static_cast<std::int32_t>(failure & 0xffffffffu));
  }
  return 0;
}

// ---- Making a session.

void describe_steps(whet_session& s) {
  const std::uint32_t steps = view_of(s).header->steps.count;
  for (std::uint32_t i = 0; i < steps; ++i) {
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
  s.profile.steps = steps;
  s.profile.step = s.steps;
}

/// Lists that are long enough for every variant.
int allocate(whet_session& s, whet_error* error) {
  std::uint32_t steps = 0, arguments = 0;
  for (std::uint32_t v = 0; v < s.model->plans.variant_count(); ++v) {
    const PlanHeader& header = *s.model->variants[v].view.header;
    if (header.steps.count > steps) steps = header.steps.count;
    if (header.arguments.count > arguments) arguments = header.arguments.count;
  }
  s.walk.buffers = zeroed<void*>(arguments);
  s.inputs = zeroed<Input>(s.model->info.inputs);
  s.outputs = zeroed<Output>(s.model->info.outputs);
  s.walk.step_ns = zeroed<std::uint64_t>(steps);
  s.steps = zeroed<whet_step_profile>(steps);
  s.walk.first_step = zeroed<std::uint32_t>(steps);
  s.walk.kinds = zeroed<std::uint8_t>(steps);
  if (!s.walk.buffers || !s.walk.first_step || !s.walk.kinds || !s.inputs || !s.outputs || !s.walk.step_ns || !s.steps)
    return whet_fail(error, "no memory for a session");
  for (VariantAt& made : s.made)
    if (s.model->variant_at_bytes > 0 && make_variant_at(*s.model, &made, error) != 0) return -1;
  s.walk.entries = s.model->image.entries;
  s.walk.pool = s.pool;
  return find_scratch(s, *s.at, error);
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

/// Does `work` as the one thread that uses the session.
template <typename Work>
int alone(whet_session* s, whet_error* error, Work work) {
  if (!s->running.begin()) {
    return whet_fail(error, "the session is already running in another thread; expected one session a thread");
  }
  const int result = work();
  s->running.end();
  return result;
}

/// The variant at these sizes. One whose plan changes with them is made in the memory that the session does not use now.
int find_at(whet_session& s, std::uint32_t variant, const std::int64_t* sizes, const ModelVariant** at,
            whet_error* error) {
  *at = &s.model->variants[variant];
  if (!s.model->plans.changes(variant)) return 0;
  VariantAt& spare = s.made[s.at == &s.made[0].variant ? 1 : 0];
  *at = &spare.variant;
  return move_variant(*s.model, variant, sizes, &spare, error);
}

int set_variant(whet_session& s, const ModelVariant& at, const std::int64_t* sizes, whet_error* error) {
  if (find_scratch(s, at, error) != 0) return -1;
  s.walked = nullptr;
  s.buffers_stale = true;
  s.outputs_stale = true;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    s.inputs[i].contiguous = true;
    s.inputs[i].copied = !is_aligned(s.inputs[i].data);
  }
  s.at = &at;
  memcpy(s.sizes, sizes, sizeof s.sizes);
  if (s.profiling) session_set_profiling(&s, 1);  // from zero: its steps are others
  return 0;
}

/// The sizes that shapes say, and the variant at them: the one that is set, where it stays.
int find_shapes(whet_session& s, const std::int64_t* const* shapes, std::int64_t (&sizes)[kMaxSizes],
                const ModelVariant** at, whet_error* error) {
  const ModelShapes model = model_shapes(s.model);
  std::uint32_t variant = 0;
  memset(sizes, 0, sizeof sizes);
  if (find_sizes(model, s.sizes, shapes, sizes, &variant, error) != 0) return -1;
  *at = s.at;
  if (memcmp(sizes, s.sizes, sizeof sizes) != 0 && find_at(s, variant, sizes, at, error) != 0) return -1;
  return check_shapes(model, (*at)->inputs, shapes, error);
}

int set_shapes(whet_session& s, const std::int64_t* const* shapes, whet_error* error) {
  std::int64_t sizes[kMaxSizes];
  const ModelVariant* at = nullptr;
  if (find_shapes(s, shapes, sizes, &at, error) != 0) return -1;
  return at == s.at ? 0 : set_variant(s, *at, sizes, error);
}

/// Memory for a run at a variant, wherever inputs and outputs will lie.
int reserve(whet_session& s, const ModelVariant& at, whet_error* error) {
  if (find_scratch(s, at, error) != 0) return -1;
  s.buffers_stale = true;
  for (std::uint32_t i = 0; i < s.model->info.inputs; ++i) {
    if (make_input_copy(s, i, at, error) != 0) return -1;
  }
  for (std::uint32_t i = 0; i < s.model->info.outputs; ++i) {
    if (make_output(s, i, at, error) != 0) return -1;
  }
  return 0;
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
  s->at = &model->usual();
  if (model->plans.size_count() > 0)
    memcpy(s->sizes, model->plans.usual_values(), model->plans.size_count() * sizeof(std::int64_t));
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
  for (VariantAt& made : s->made) free_variant_at(&made);
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
  const whet_tensor_info& info = s->at->inputs[i];
  const std::int64_t element = whet_dtype_bytes(info.dtype);
  if (data == nullptr && info.bytes != 0) return refuse_tensor("input", info, i, "the pointer given is null", error);
  s->buffers_stale = true;  // first: another thread may fork in the middle
  Input& input = s->inputs[i];
  for (std::uint32_t d = 0; strides != nullptr && d < info.rank; ++d) input.strides[d] = strides[d];
  input.data = data;
  input.contiguous = strides == nullptr || is_contiguous(info.shape, strides, info.rank, element);
  input.copied = !is_aligned(data) || !input.contiguous;
  return 0;
}

int session_set_input_dlpack(whet_session* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.inputs) return no_such_tensor("input", i, s->model->info.inputs, error);
  const whet_tensor_info& info = s->at->inputs[i];
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
  return alone(s, error, [&] { return run(*s, error); });
}

int session_set_shapes(whet_session* s, const std::int64_t* const* shapes, whet_error* error) {
  return alone(s, error, [&] { return set_shapes(*s, shapes, error); });
}

int session_reserve(whet_session* s, const std::int64_t* const* shapes, whet_error* error) {
  return alone(s, error, [&] {
    const SizedView& plans = s->model->plans;
    std::int64_t most[kMaxSizes], sizes[kMaxSizes];
    const ModelVariant* at = nullptr;
    const auto reserve_at = [&](std::uint32_t box, const std::int64_t* values) {
      return find_at(*s, plans.boxes[box].variant, values, &at, error) != 0 ? -1 : reserve(*s, *at, error);
    };
    for (std::uint32_t k = 0; k < plans.size_count(); ++k) most[k] = plans.sizes[k].max;
    if (shapes != nullptr && find_shapes(*s, shapes, most, &at, error) != 0) return -1;
    // The largest first: a pool keeps what it has lent.
    for (std::uint32_t b = plans.box_count(); b-- > 0;) {
      if (!largest_within(plans, b, most, sizes)) continue;
      // An output may be larger where a size is smaller.
      if (reserve_at(b, sizes) != 0 || reserve_at(b, plans.low_of(b)) != 0) return -1;
    }
    return 0;
  });
}

const whet_tensor_info* session_input_info(const whet_session* s, std::uint32_t i) {
  return i < s->model->info.inputs ? &s->at->inputs[i] : nullptr;
}

const whet_tensor_info* session_output_info(const whet_session* s, std::uint32_t i) {
  return i < s->model->info.outputs ? &s->at->outputs[i] : nullptr;
}

const void* session_output(const whet_session* s, std::uint32_t i) {
  if (i >= s->model->info.outputs) return nullptr;
  const Output& output = s->outputs[i];
  if (output.bound != nullptr) return output.bound;
  return s->outputs_stale ? nullptr : output.own.data;
}

int session_output_dlpack(const whet_session* s, std::uint32_t i, whet_dltensor* tensor, whet_error* error) {
  if (i >= s->model->info.outputs) return no_such_tensor("output", i, s->model->info.outputs, error);
  *tensor = dlpack_of(s->at->outputs[i], const_cast<void*>(session_output(s, i)), kDlCpu, 0);
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
