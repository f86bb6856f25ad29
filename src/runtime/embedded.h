#pragma once

#include <string_view>

/// The runtime of compiled models as one relocatable object (library whet_runtime_embedded). `compiler` links it with
/// the kernels and the plan. It exports whet_model_v1 and needs whet_image (runtime/model.h) and the C library.
extern "C" const char whet_runtime_object_begin[];
extern "C" const char whet_runtime_object_end[];

/// The same for models that are compiled for CUDA. It needs whet_cuda_image (runtime/cuda/model.h) and the C library; the
/// driver is opened when a model is.
extern "C" const char whet_cuda_runtime_object_begin[];
extern "C" const char whet_cuda_runtime_object_end[];

namespace whet {

inline std::string_view cpu_runtime_object() { return {whet_runtime_object_begin, whet_runtime_object_end}; }
inline std::string_view cuda_runtime_object() { return {whet_cuda_runtime_object_begin, whet_cuda_runtime_object_end}; }

}  // namespace whet
