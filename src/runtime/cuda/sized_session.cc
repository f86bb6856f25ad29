#include "runtime/cuda/sized_session.h"

#include <stdlib.h>
#include <string.h>

namespace whet {

struct CudaSizedSession {
  CudaModel* model;
  whet_pool* pool;
  std::uint32_t at;               // the variant that is set,
  std::int64_t sizes[kMaxSizes];  // and its sizes
  CudaSession** made;             // of each variant; null: none yet, or no more
  std::uint64_t* used;            // when each was set last
  std::uint64_t clock;
};

namespace {

constexpr std::uint32_t kMostKept = 16;

int make(CudaSizedSession& s, std::uint32_t variant, whet_error* error) {
  s.used[variant] = ++s.clock;
  if (s.made[variant] != nullptr) return 0;
  return cuda_session_create(s.model->variants[variant], s.pool, &s.made[variant], error);
}

/// Gives back the sessions that were not set for the longest time, all but the most that are kept.
void forget_the_oldest(CudaSizedSession& s) {
  for (;;) {
    std::uint32_t kept = 0, oldest = s.at;
    for (std::uint32_t v = 0; v < s.model->plans.variant_count(); ++v) {
      if (s.made[v] == nullptr) continue;
      ++kept;
      if (v != s.at && (oldest == s.at || s.used[v] < s.used[oldest])) oldest = v;
    }
    if (kept <= kMostKept || oldest == s.at) return;
    cuda_session_destroy(s.made[oldest]);
    s.made[oldest] = nullptr;
  }
}

int find(const CudaSizedSession& s, const std::int64_t* const* shapes, std::int64_t* sizes, std::uint32_t* variant,
         whet_error* error) {
  const ModelShapes model = cuda_model_shapes(*s.model);
  if (find_sizes(model, s.sizes, shapes, sizes, variant, error) != 0) return -1;
  return check_shapes(model, s.model->variants[*variant]->inputs, shapes, error);
}

}  // namespace

int cuda_sized_session_create(CudaModel* model, whet_pool* pool, CudaSizedSession** out, whet_error* error) {
  *out = nullptr;
  CudaSizedSession* s = static_cast<CudaSizedSession*>(calloc(1, sizeof(CudaSizedSession)));
  if (s == nullptr) return whet_fail(error, "no memory for a session");
  const std::uint32_t count = model->plans.variant_count();
  s->model = model;
  s->pool = pool;
  s->at = model->plans.usual();
  for (std::uint32_t k = 0; k < model->plans.size_count(); ++k) s->sizes[k] = model->plans.usual_values()[k];
  s->made = static_cast<CudaSession**>(calloc(count, sizeof(CudaSession*)));
  s->used = static_cast<std::uint64_t*>(calloc(count, sizeof(std::uint64_t)));
  const bool memory = s->made != nullptr && s->used != nullptr;
  if (!memory) whet_fail(error, "no memory for a session");
  if (!memory || make(*s, s->at, error) != 0) {
    cuda_sized_session_destroy(s);
    return -1;
  }
  *out = s;
  return 0;
}

void cuda_sized_session_destroy(CudaSizedSession* s) {
  if (s == nullptr) return;
  for (std::uint32_t v = 0; s->made != nullptr && v < s->model->plans.variant_count(); ++v)
    cuda_session_destroy(s->made[v]);
  free(static_cast<void*>(s->made));
  free(s->used);
  free(s);
}

CudaSession* cuda_session_now(const CudaSizedSession* s) { return s->made[s->at]; }

int cuda_session_set_shapes(CudaSizedSession* s, const std::int64_t* const* shapes, whet_error* error) {
  std::int64_t sizes[kMaxSizes] = {};
  std::uint32_t variant = s->at;
  CudaSession* const before = cuda_session_now(s);
  if (find(*s, shapes, sizes, &variant, error) != 0) return -1;
  if (variant == s->at) return 0;
  if (cuda_session_wait(before, error) != 0 || make(*s, variant, error) != 0) return -1;
  cuda_session_take_over(s->made[variant], before);
  s->at = variant;
  memcpy(s->sizes, sizes, sizeof sizes);
  forget_the_oldest(*s);
  return 0;
}

int cuda_session_reserve(CudaSizedSession* s, const std::int64_t* const* shapes, whet_error* error) {
  const SizedView& plans = s->model->plans;
  std::int64_t most[kMaxSizes], sizes[kMaxSizes];
  std::uint32_t variant = 0, left = kMostKept - 1;  // and the one at hand
  for (std::uint32_t k = 0; k < plans.size_count(); ++k) most[k] = plans.sizes[k].max;
  if (shapes != nullptr && find(*s, shapes, most, &variant, error) != 0) return -1;
  if (cuda_session_wait(cuda_session_now(s), error) != 0) return -1;
  for (std::uint32_t b = plans.box_count(); b-- > 0 && left > 0;) {
    if (!largest_within(plans, b, most, sizes)) continue;
    const std::uint32_t v = plans.boxes[b].variant;
    if (make(*s, v, error) != 0) return -1;
    if (v != s->at) --left;
  }
  s->used[s->at] = ++s->clock;
  forget_the_oldest(*s);
  return 0;
}

const whet_tensor_info* cuda_session_input_info(const CudaSizedSession* s, std::uint32_t i) {
  return i < s->model->info.inputs ? &s->model->variants[s->at]->inputs[i] : nullptr;
}

const whet_tensor_info* cuda_session_output_info(const CudaSizedSession* s, std::uint32_t i) {
  return i < s->model->info.outputs ? &s->model->variants[s->at]->outputs[i] : nullptr;
}

}  // namespace whet
