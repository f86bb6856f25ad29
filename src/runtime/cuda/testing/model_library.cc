// With the runtime of models for CUDA this is a compiled model, as the compiler would link it, whose image a test gives it.

#include "runtime/cuda/model.h"

extern "C" __attribute__((visibility("hidden"))) whet::CudaModelImage whet_cuda_image;
whet::CudaModelImage whet_cuda_image;

/// Before the model is opened.
extern "C" void whet_test_set_image(const whet::CudaModelImage* image) { whet_cuda_image = *image; }
