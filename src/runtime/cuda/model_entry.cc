// The way into a library compiled for CUDA: part of its runtime alone, not of whet's own programs.

#include "runtime/cuda/sized_session.h"

/// What the compiler's object holds: plan, images and weights of this library.
extern "C" __attribute__((visibility("hidden"))) const whet::CudaModelImage whet_cuda_image;

namespace whet {
namespace {

// The API's handles are ours: no other runtime is in this library.
CudaModel* own(whet_model* model) { return reinterpret_cast<CudaModel*>(model); }
const CudaModel* own(const whet_model* model) { return reinterpret_cast<const CudaModel*>(model); }
CudaSizedSession* sized(whet_session* session) { return reinterpret_cast<CudaSizedSession*>(session); }
const CudaSizedSession* sized(const whet_session* session) {
  return reinterpret_cast<const CudaSizedSession*>(session);
}
CudaSession* own(whet_session* session) { return cuda_session_now(sized(session)); }
const CudaSession* own(const whet_session* session) { return cuda_session_now(sized(session)); }

int count_devices(std::uint32_t* count, whet_error* error) {
  const CudaDriver* driver = nullptr;
  *count = 0;
  if (system_cuda_driver(&driver, nullptr) != 0) return 0;
  return cuda_device_count(whet_cuda_image, *driver, count, error);
}

int choose_driver(const whet_device_options* device, const CudaDriver** driver, whet_error* error) {
  const void* given = read_options(device).driver;
  if (given == nullptr) return system_cuda_driver(driver, error);
  *driver = static_cast<const CudaDriver*>(given);
  return (*driver)->table == kCudaTable ? 0 : whet_fail(error, "the given driver is of another version of whet");
}

int open_on(const whet_open_options*, const whet_device_options* device, whet_model** model, whet_error* error) {
  const CudaDriver* driver = nullptr;
  CudaModel* opened = nullptr;
  *model = nullptr;
  if (choose_driver(device, &driver, error) != 0) return -1;
  if (cuda_model_open(whet_cuda_image, *driver, device, &opened, error) != 0) return -1;
  *model = reinterpret_cast<whet_model*>(opened);
  return 0;
}

int open_first(const whet_open_options* options, whet_model** model, whet_error* error) {
  return open_on(options, nullptr, model, error);
}
void close_model(whet_model* model) { cuda_model_close(own(model)); }
const whet_model_info* info_of_model(const whet_model* model) { return &own(model)->info; }
const whet_device_info* device_of_model(const whet_model* model) { return &own(model)->device; }
const whet_tensor_info* input_of_model(const whet_model* model, std::uint32_t i) {
  return i < own(model)->info.inputs ? &own(model)->inputs[i] : nullptr;
}
const whet_tensor_info* output_of_model(const whet_model* model, std::uint32_t i) {
  return i < own(model)->info.outputs ? &own(model)->outputs[i] : nullptr;
}

int create_pool(const whet_pool_options* options, whet_pool** pool, whet_error* error) {
  return pool_create(options, 0, pool, error);
}
void destroy_pool(whet_pool* pool) { pool_destroy(pool); }
const whet_pool_info* info_of_pool(const whet_pool* pool) { return pool_info(pool); }

int create_session(whet_model* model, whet_pool* pool, whet_session** session, whet_error* error) {
  CudaSizedSession* created = nullptr;
  const int result = cuda_sized_session_create(own(model), pool, &created, error);
  *session = reinterpret_cast<whet_session*>(created);
  return result;
}
void destroy_session(whet_session* s) { cuda_sized_session_destroy(sized(s)); }
whet_pool* pool_of(const whet_session* s) { return cuda_session_pool(own(s)); }
const char* note_of(const whet_session* s) { return cuda_session_note(own(s)); }
int set_input(whet_session* s, std::uint32_t i, const void* data, const std::int64_t* strides, whet_error* error) {
  return cuda_session_set_input(own(s), i, data, strides, error);
}
int set_input_dlpack(whet_session* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  return cuda_session_set_input_dlpack(own(s), i, tensor, error);
}
int bind_output(whet_session* s, std::uint32_t i, void* data, whet_error* error) {
  return cuda_session_bind_output(own(s), i, data, error);
}
int bind_output_dlpack(whet_session* s, std::uint32_t i, const whet_dltensor* tensor, whet_error* error) {
  return cuda_session_bind_output_dlpack(own(s), i, tensor, error);
}
int run(whet_session* s, whet_error* error) { return cuda_session_run(own(s), error); }
const void* output_of(const whet_session* s, std::uint32_t i) { return cuda_session_output(own(s), i); }
int output_dlpack(const whet_session* s, std::uint32_t i, whet_dltensor* tensor, whet_error* error) {
  return cuda_session_output_dlpack(own(s), i, tensor, error);
}
void set_profiling(whet_session* s, int on) { cuda_session_set_profiling(own(s), on); }
void profile_of(whet_session* s, whet_profile* profile) { cuda_session_profile(own(s), profile); }
int set_stream(whet_session* s, void* stream, whet_error* error) {
  return cuda_session_set_stream(own(s), stream, error);
}
int enqueue(whet_session* s, whet_error* error) { return cuda_session_enqueue(own(s), error); }
int wait(whet_session* s, whet_error* error) { return cuda_session_wait(own(s), error); }

std::uint32_t size_count(const whet_model* model) { return own(model)->plans.size_count(); }
const whet_size_info* size_of_model(const whet_model* model, std::uint32_t k) {
  return k < size_count(model) ? &own(model)->sizes[k] : nullptr;
}
int set_shapes(whet_session* s, const std::int64_t* const* shapes, whet_error* error) {
  return cuda_session_set_shapes(sized(s), shapes, error);
}
int reserve(whet_session* s, const std::int64_t* const* shapes, whet_error* error) {
  return cuda_session_reserve(sized(s), shapes, error);
}
const whet_tensor_info* input_now(const whet_session* s, std::uint32_t i) {
  return cuda_session_input_info(sized(s), i);
}
const whet_tensor_info* output_now(const whet_session* s, std::uint32_t i) {
  return cuda_session_output_info(sized(s), i);
}

constexpr whet_api table_of(std::uint32_t bytes) {
  return {
      bytes,
      WHET_API_VERSION,
      WHET_MODEL_FORMAT_VERSION,
      0,
      open_first,
      close_model,
      info_of_model,
      input_of_model,
      output_of_model,
      create_pool,
      destroy_pool,
      info_of_pool,
      create_session,
      destroy_session,
      pool_of,
      note_of,
      set_input,
      set_input_dlpack,
      bind_output,
      run,
      output_of,
      output_dlpack,
      set_profiling,
      profile_of,
      count_devices,
      open_on,
      device_of_model,
      bind_output_dlpack,
      set_stream,
      enqueue,
      wait,
      size_count,
      size_of_model,
      set_shapes,
      reserve,
      input_now,
      output_now,
      nullptr,
  };
}

/// A library for one size ends before the part of sizes, as it always did.
constexpr whet_api kApi = table_of(offsetof(whet_api, model_size_count));
constexpr whet_api kSizedApi = table_of(offsetof(whet_api, model_open_from));

}  // namespace
}  // namespace whet

extern "C" __attribute__((visibility("default"))) const whet_api* whet_model_v1(void) {
  return whet::is_sized_plan(whet_cuda_image.plan, whet_cuda_image.plan_bytes) ? &whet::kSizedApi : &whet::kApi;
}
