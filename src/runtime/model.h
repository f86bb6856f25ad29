#pragma once

#include <cstdint>

#include "artifact/kernel_args.h"
#include "artifact/sized_plan.h"
#include "runtime/memory.h"
#include "runtime/process.h"
#include "runtime/shapes.h"
#include "runtime/weights_file.h"
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
  /// Not 0: `weights` is null, and they are in a file of their own, whose header has this number.
  std::uint64_t weights_key = 0;
};

/// See whet_api. `image` outlives the model.
int model_open(const ModelImage& image, const whet_open_options* options, whet_model** model, whet_error* error);
int model_open_from(const ModelImage& image, const whet_open_options* options, const whet_open_source* source,
                    whet_model** model, whet_error* error);
void model_close(whet_model* model);
const whet_model_info* model_info(const whet_model* model);
const whet_tensor_info* model_input(const whet_model* model, std::uint32_t i);
const whet_tensor_info* model_output(const whet_model* model, std::uint32_t i);
std::uint32_t model_size_count(const whet_model* model);
const whet_size_info* model_size(const whet_model* model, std::uint32_t k);

/// The shapes that its inputs may have.
ModelShapes model_shapes(const whet_model* model);

/// The pool that the model makes for itself when it is first asked for.
int model_own_pool(whet_model* model, whet_pool** pool, whet_error* error);

/// What a model runs by at one choice of its sizes.
struct ModelVariant {
  ModelView view;
  whet_tensor_info* inputs;
  whet_tensor_info* outputs;
  std::uint64_t worker_bytes;  ///< workspace of a worker: the largest of its steps
  char* sizes;                 ///< PlanPlace::sizes; null where no kernel reads any
};

/// A variant whose plan changes with the sizes, at values of them, in memory of its own.
struct VariantAt {
  ModelVariant variant;
  Pages memory;
};
/// Memory that is enough for each variant of the model.
int make_variant_at(const whet_model& model, VariantAt* at, whet_error* error);
void free_variant_at(VariantAt* at);
/// Makes it variant `number` at these values. Nothing is allocated.
int move_variant(const whet_model& model, std::uint32_t number, const std::int64_t* values, VariantAt* at,
                 whet_error* error);

}  // namespace whet

struct whet_model {
  whet::ModelImage image;
  whet::SizedView plans;
  whet::ModelVariant* variants;    // [plans.variant_count()], as they are stored
  std::uint64_t variant_at_bytes;  // memory of a VariantAt; 0: no plan changes with the sizes
  whet::VariantAt usual_at;        // where that of the usual variant does
  whet_size_info* sizes;           // [plans.size_count()]
  const char* weights;             // the image's, a copy, or those of `own_weights`
  whet::OwnWeights own_weights;    // of an image that has none
  whet_model_info info;            // at the usual sizes

  const whet::ModelVariant& usual() const {
    return plans.changes(plans.usual()) ? usual_at.variant : variants[plans.usual()];
  }
  whet::ForkLock own_pool_lock;
  std::atomic<whet_pool*> own_pool;
};
