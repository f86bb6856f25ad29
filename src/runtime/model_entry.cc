// The way into a compiled library: part of its runtime alone, not of whet's own programs.

#include "runtime/session.h"

/// What the compiler's object holds: plan, kernels and weights of this library.
extern "C" __attribute__((visibility("hidden"))) const whet::ModelImage whet_image;

namespace whet {
namespace {

int open_embedded(const whet_open_options* options, whet_model** model, whet_error* error) {
  return model_open(whet_image, options, model, error);
}

int create_pool(const whet_pool_options* options, whet_pool** pool, whet_error* error) {
  return pool_create(options, 0, pool, error);
}

void destroy_pool(whet_pool* pool) { pool_destroy(pool); }
const whet_pool_info* info_of_pool(const whet_pool* pool) { return pool_info(pool); }

constexpr whet_api kApi = {
    offsetof(whet_api, device_count),  // what follows is of devices alone
    WHET_API_VERSION,
    WHET_MODEL_FORMAT_VERSION,
    0,
    open_embedded,
    model_close,
    model_info,
    model_input,
    model_output,
    create_pool,
    destroy_pool,
    info_of_pool,
    session_create,
    session_destroy,
    session_pool,
    session_note,
    session_set_input,
    session_set_input_dlpack,
    session_bind_output,
    session_run,
    session_output,
    session_output_dlpack,
    session_set_profiling,
    session_profile,
};

}  // namespace
}  // namespace whet

extern "C" __attribute__((visibility("default"))) const whet_api* whet_model_v1(void) { return &whet::kApi; }
