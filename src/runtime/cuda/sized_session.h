#pragma once

#include <cstdint>

#include "runtime/cuda/stream_session.h"

namespace whet {

/// A session of a library for CUDA, at the sizes that are set. Each choice of sizes has a CudaSession, with an arena and a graph
/// of its own, made when it is first set; the 16 that were set last are kept. See whet_api for each function.
struct CudaSizedSession;

/// Begins at the usual sizes.
int cuda_sized_session_create(CudaModel* model, whet_pool* pool, CudaSizedSession** session, whet_error* error);
void cuda_sized_session_destroy(CudaSizedSession* session);
/// The session of the sizes that are set, which does all the rest.
CudaSession* cuda_session_now(const CudaSizedSession* session);
int cuda_session_set_shapes(CudaSizedSession* session, const std::int64_t* const* shapes, whet_error* error);
int cuda_session_reserve(CudaSizedSession* session, const std::int64_t* const* shapes, whet_error* error);
const whet_tensor_info* cuda_session_input_info(const CudaSizedSession* session, std::uint32_t i);
const whet_tensor_info* cuda_session_output_info(const CudaSizedSession* session, std::uint32_t i);

}  // namespace whet
