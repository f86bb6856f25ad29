// The way into a compiled library: part of its runtime alone, not of whet's own programs.

#include "runtime/session.h"

/// What the compiler's object holds: plan, kernels and weights of this library.
extern "C" __attribute__((visibility("hidden"))) const whet::ModelImage whet_image;

namespace whet {
namespace {

int open_embedded(const whet_open_options* options, whet_model** model, whet_error* error) {
  return model_open(whet_image, options, model, error);
}

int open_embedded_from(const whet_open_options* options, const whet_open_source* source, whet_model** model,
                       whet_error* error) {
  return model_open_from(whet_image, options, source, model, error);
}

int create_pool(const whet_pool_options* options, whet_pool** pool, whet_error* error) {
  return pool_create(options, 0, pool, error);
}

void destroy_pool(whet_pool* pool) { pool_destroy(pool); }
const whet_pool_info* info_of_pool(const whet_pool* pool) { return pool_info(pool); }

// What a table has that goes on behind the part of devices. model_open_device is null: no program may take the model for
// one of a device.

int no_devices(std::uint32_t* count, whet_error*) {
  *count = 0;
  return 0;
}
const whet_device_info* no_device(const whet_model*) { return nullptr; }
int runs_on_cpu(whet_error* error) { return whet_fail(error, "the model runs on the CPU"); }
int bind_on_cpu(whet_session*, std::uint32_t, const whet_dltensor*, whet_error* error) { return runs_on_cpu(error); }
int stream_on_cpu(whet_session*, void*, whet_error* error) { return runs_on_cpu(error); }
int order_on_cpu(whet_session*, whet_error* error) { return runs_on_cpu(error); }

constexpr whet_api table_of(std::uint32_t bytes) {
  return {
      bytes,
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
      no_devices,
      nullptr,
      no_device,
      bind_on_cpu,
      stream_on_cpu,
      order_on_cpu,
      order_on_cpu,
      model_size_count,
      model_size,
      session_set_shapes,
      session_reserve,
      session_input_info,
      session_output_info,
      open_embedded_from,
  };
}

/// A library for one size ends before the part of devices, as it always did.
constexpr whet_api kApi = table_of(offsetof(whet_api, device_count));
/// One with its weights before what opens it with others.
constexpr whet_api kSizedApi = table_of(offsetof(whet_api, model_open_from));
constexpr whet_api kApiOfOwnWeights = table_of(sizeof(whet_api));

}  // namespace
}  // namespace whet

extern "C" __attribute__((visibility("default"))) const whet_api* whet_model_v1(void) {
  if (whet_image.weights_key != 0) return &whet::kApiOfOwnWeights;
  return whet::is_sized_plan(whet_image.plan, whet_image.plan_bytes) ? &whet::kSizedApi : &whet::kApi;
}
