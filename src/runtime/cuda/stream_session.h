#pragma once

#include <cstdint>

#include "runtime/cpu/pool.h"
#include "runtime/cuda/model.h"

namespace whet {

/// A session of a model on a device: one arena, one graph of its launches and copies, and pinned memory for copies from and to
/// the host. See whet_api for each function.
///
/// The graph is built when the session is made. Edges follow the data, so that branches of the network run at the same
/// time. A changed pointer changes the parameters of the nodes that have it; only a change of the kind of memory (host or
/// device) builds the graph again.
struct CudaSession;

int cuda_session_create(CudaModel* model, whet_pool* pool, CudaSession** session, whet_error* error);
void cuda_session_destroy(CudaSession* session);
whet_pool* cuda_session_pool(const CudaSession* session);
const char* cuda_session_note(const CudaSession* session);
int cuda_session_set_input(CudaSession* session, std::uint32_t i, const void* data, const std::int64_t* strides,
                           whet_error* error);
int cuda_session_set_input_dlpack(CudaSession* session, std::uint32_t i, const whet_dltensor* tensor,
                                  whet_error* error);
int cuda_session_bind_output(CudaSession* session, std::uint32_t i, void* data, whet_error* error);
int cuda_session_bind_output_dlpack(CudaSession* session, std::uint32_t i, const whet_dltensor* tensor,
                                    whet_error* error);
int cuda_session_run(CudaSession* session, whet_error* error);
const void* cuda_session_output(const CudaSession* session, std::uint32_t i);
int cuda_session_output_dlpack(const CudaSession* session, std::uint32_t i, whet_dltensor* tensor, whet_error* error);
void cuda_session_set_profiling(CudaSession* session, int on);
void cuda_session_profile(CudaSession* session, whet_profile* profile);
int cuda_session_set_stream(CudaSession* session, void* stream, whet_error* error);
int cuda_session_enqueue(CudaSession* session, whet_error* error);
int cuda_session_wait(CudaSession* session, whet_error* error);

/// Takes over the memory of inputs and outputs, the stream and the profiling of a session of the same library at other
/// sizes, which has been waited for. Inputs are contiguous from now on.
void cuda_session_take_over(CudaSession* session, const CudaSession* from);

}  // namespace whet
