#include "runtime/cuda/sized_session.h"

#include <stdlib.h>

namespace whet {

struct CudaSizedSession {
  CudaModel* model;
  whet_pool* pool;
  std::uint32_t at;     // the variant that is set
  CudaSession** made;   // of each variant; null: none yet, or no more
  std::uint64_t* used;  // when each was set last
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

int find(const CudaSizedSession& s, const std::int64_t* const* shapes, std::uint32_t* variant, whet_error* error) {
  return find_variant(cuda_model_shapes(*s.model), s.at, shapes, variant, error);
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
  std::uint32_t variant = s->at;
  CudaSession* const before = cuda_session_now(s);
  if (find(*s, shapes, &variant, error) != 0) return -1;
  if (variant == s->at) return 0;
  if (cuda_session_wait(before, error) != 0 || make(*s, variant, error) != 0) return -1;
  cuda_session_take_over(s->made[variant], before);
  s->at = variant;
  forget_the_oldest(*s);
  return 0;
}

int cuda_session_reserve(CudaSizedSession* s, const std::int64_t* const* shapes, whet_error* error) {
  std::uint32_t largest = s->model->plans.variant_count() - 1, left = kMostKept - 1;  // and the one at hand
  if (shapes != nullptr && find(*s, shapes, &largest, error) != 0) return -1;
  if (cuda_session_wait(cuda_session_now(s), error) != 0) return -1;
  for (std::uint32_t v = largest + 1; v-- > 0 && left > 0;) {
    if (!is_within(s->model->plans, v, largest)) continue;
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
