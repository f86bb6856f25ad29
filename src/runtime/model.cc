#include "runtime/model.h"

#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "runtime/cpu/pool.h"
#include "runtime/cpu/required_isa.h"
#include "runtime/description.h"
#include "runtime/weights.h"

namespace whet {
namespace {

/// Weights smaller than this stay where they are: no huge page would be filled.
constexpr std::uint64_t kCopyFrom = kHugePage;

int place_weights(whet_model& model, bool map, whet_error* error) {
  const ModelImage& image = model.image;
  model.weights = static_cast<const char*>(image.weights);
  if (map || image.weights_bytes < kCopyFrom) return 0;
  const char* copy = take_weights_copy(image);
  if (copy == nullptr) {
    return whet_fail(error, "model %s: no memory for %llu bytes of weights", model.info.name,
                     static_cast<unsigned long long>(image.weights_bytes));
  }
  model.weights = copy;
  return 0;
}

int fill(whet_model& model, const whet_open_options& options, whet_error* error) {
  if (parse_model(model.image.plan, model.image.plan_bytes, &model.view, error) != 0) return -1;
  const PlanHeader& header = *model.view.header;
  if (header.weights_bytes != model.image.weights_bytes) {
    return whet_fail(error, "the model's plan asks for %llu bytes of weights; there are %llu",
                     static_cast<unsigned long long>(header.weights_bytes),
                     static_cast<unsigned long long>(model.image.weights_bytes));
  }
  if (header.device.length != 0) {
    return whet_fail(error, "model %s is compiled for the device %s; its runtime knows the CPU alone",
                     model.view.text(header.name), model.view.text(header.device));
  }
  if (check_required_isa(model.view, error) != 0) return -1;
  model.info = describe_model(model.view);
  model.inputs = describe_tensors(model.view, model.view.inputs, header.inputs.count);
  model.outputs = describe_tensors(model.view, model.view.outputs, header.outputs.count);
  if (model.inputs == nullptr || model.outputs == nullptr) return whet_fail(error, "no memory to open the model");
  return place_weights(model, options.map_weights != 0, error);
}

}  // namespace

int model_open(const ModelImage& image, const whet_open_options* given, whet_model** out, whet_error* error) {
  const whet_open_options options = given != nullptr ? *given : whet_open_options{};
  *out = nullptr;
  void* memory = calloc(1, sizeof(whet_model));
  if (memory == nullptr) return whet_fail(error, "no memory to open the model");
  whet_model* model = new (memory) whet_model();
  model->image = image;
  if (fill(*model, options, error) != 0) {
    model_close(model);
    return -1;
  }
  *out = model;
  return 0;
}

void model_close(whet_model* model) {
  if (model == nullptr) return;
  pool_destroy(model->own_pool);
  if (model->weights != model->image.weights && model->weights != nullptr) return_weights_copy(model->weights);
  free(model->inputs);
  free(model->outputs);
  model->~whet_model();
  free(model);
}

const whet_model_info* model_info(const whet_model* model) { return &model->info; }

const whet_tensor_info* model_input(const whet_model* model, std::uint32_t i) {
  return i < model->info.inputs ? &model->inputs[i] : nullptr;
}

const whet_tensor_info* model_output(const whet_model* model, std::uint32_t i) {
  return i < model->info.outputs ? &model->outputs[i] : nullptr;
}

int model_own_pool(whet_model* model, whet_pool** pool, whet_error* error) {
  const Locked locked(model->own_pool_lock);
  *pool = model->own_pool;
  if (*pool == nullptr && pool_create(nullptr, model->info.tuned_threads, pool, error) != 0) return -1;
  model->own_pool.store(*pool, std::memory_order_release);  // whole: another thread may fork now
  return 0;
}

}  // namespace whet
