// Kernels as the code generator would write them, by hand: what the tests of linking link.

#include "artifact/kernel_args.h"

/// out[i] = in[i] + weights[i], 1024 floats
extern "C" int32_t whet_test_add(const whet_kernel_args* args) {
  const float* in = static_cast<const float*>(args->buffers[0]);
  const float* weights = static_cast<const float*>(args->buffers[1]);
  float* out = static_cast<float*>(args->buffers[2]);
  const uint32_t begin = 1024 * args->worker / args->workers, end = 1024 * (args->worker + 1) / args->workers;
  for (uint32_t i = begin; i < end; ++i) out[i] = in[i] + weights[i];
  return 0;
}

/// out[i] = 2 in[1023 - i], 1024 floats
extern "C" int32_t whet_test_reverse(const whet_kernel_args* args) {
  const float* in = static_cast<const float*>(args->buffers[0]);
  float* out = static_cast<float*>(args->buffers[1]);
  const uint32_t begin = 1024 * args->worker / args->workers, end = 1024 * (args->worker + 1) / args->workers;
  for (uint32_t i = begin; i < end; ++i) out[i] = 2 * in[1023 - i];
  return 0;
}
