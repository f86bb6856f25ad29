#pragma once

#include <cstdint>

#include "runtime/cpu/pool.h"
#include "runtime/model.h"

namespace whet {

/// See whet_api.
int session_create(whet_model* model, whet_pool* pool, whet_session** session, whet_error* error);
void session_destroy(whet_session* session);
whet_pool* session_pool(const whet_session* session);
const char* session_note(const whet_session* session);
int session_set_input(whet_session* session, std::uint32_t i, const void* data, const std::int64_t* strides,
                      whet_error* error);
int session_set_input_dlpack(whet_session* session, std::uint32_t i, const whet_dltensor* tensor, whet_error* error);
int session_bind_output(whet_session* session, std::uint32_t i, void* data, whet_error* error);
int session_run(whet_session* session, whet_error* error);
const void* session_output(const whet_session* session, std::uint32_t i);
int session_output_dlpack(const whet_session* session, std::uint32_t i, whet_dltensor* tensor, whet_error* error);
void session_set_profiling(whet_session* session, int on);
void session_profile(whet_session* session, whet_profile* profile);
int session_set_shapes(whet_session* session, const std::int64_t* const* shapes, whet_error* error);
int session_reserve(whet_session* session, const std::int64_t* const* shapes, whet_error* error);
const whet_tensor_info* session_input_info(const whet_session* session, std::uint32_t i);
const whet_tensor_info* session_output_info(const whet_session* session, std::uint32_t i);

}  // namespace whet
