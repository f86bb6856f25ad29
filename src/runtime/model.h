#pragma once

#include <cstdint>

#include "artifact/kernel_args.h"
#include "artifact/model_format.h"
#include "runtime/memory.h"
#include "runtime/process.h"
#include "whet/model.h"

namespace whet {

/// A compiled model in memory. In a compiled library the linker fills one, named whet_image: the layout is part of the
/// contract with the compiler's object writer.
struct ModelImage {
  const void* plan;  ///< model_format.h, 64-byte aligned
  std::uint64_t plan_bytes;
  const whet_kernel* entries;   ///< as many as the plan says
  const void* weights;          ///< 64-byte aligned
  std::uint64_t weights_bytes;  ///< as many as the plan says
  std::uint64_t file_backed;    ///< 1: the weights are unchanged pages of a file and may be dropped once copied
};

/// See whet_api. `image` outlives the model.
int model_open(const ModelImage& image, const whet_open_options* options, whet_model** model, whet_error* error);
void model_close(whet_model* model);
const whet_model_info* model_info(const whet_model* model);
const whet_tensor_info* model_input(const whet_model* model, std::uint32_t i);
const whet_tensor_info* model_output(const whet_model* model, std::uint32_t i);

/// The pool that the model makes for itself when it is first asked for.
int model_own_pool(whet_model* model, whet_pool** pool, whet_error* error);

}  // namespace whet

struct whet_model {
  whet::ModelImage image;
  whet::ModelView view;
  const char* weights;  // the image's, or a copy
  whet_model_info info;
  whet_tensor_info* inputs;
  whet_tensor_info* outputs;
  whet::ForkLock own_pool_lock;
  std::atomic<whet_pool*> own_pool;
};
