#include "runtime/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "runtime/cpu/pool.h"
#include "runtime/cpu/required_isa.h"
#include "runtime/description.h"
#include "runtime/weights.h"

namespace whet {
namespace {

/// Weights smaller than this stay where they are: no huge page would be filled.
constexpr std::uint64_t kCopyFrom = kHugePage;

/// Those of a file of their own.
int place_own_weights(whet_model& model, const whet_open_source& source, bool map, whet_error* error) {
  const ModelImage& image = model.image;
  if (source.weights_path == nullptr && source.weights == nullptr) {
    return whet_fail(error,
                     "model %s: its weights are in a file of their own; open it with that file (--weights-file, or "
                     "model_open_from of whet/model.h)",
                     model.info.name);
  }
  if (open_weights({model.info.name, image.weights_key, image.weights_bytes}, source, map, &model.own_weights, error))
    return -1;
  model.weights = model.own_weights.data;
  return 0;
}

int place_weights(whet_model& model, const whet_open_source& source, bool map, whet_error* error) {
  const ModelImage& image = model.image;
  if (image.weights_key != 0) return place_own_weights(model, source, map, error);
  if (source.weights_path != nullptr || source.weights != nullptr) {
    return whet_fail(error,
                     "model %s: its weights are in the library, which takes no others; whet compile "
                     "--weights-file makes a library that does",
                     model.info.name);
  }
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

std::uint64_t worker_bytes_of(const ModelView& view) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < view.header->steps.count; ++i) {
    if (view.steps[i].worker_bytes > most) most = view.steps[i].worker_bytes;
  }
  return most;
}

int check_usual(const whet_model& model, whet_error* error) {
  const ModelView& view = model.variants[model.plans.usual()].view;
  const PlanHeader& header = *view.header;
  if (header.weights_bytes != model.image.weights_bytes) {
    return whet_fail(error, "the model's plan asks for %llu bytes of weights; there are %llu",
                     static_cast<unsigned long long>(header.weights_bytes),
                     static_cast<unsigned long long>(model.image.weights_bytes));
  }
  if (header.device.length != 0) {
    return whet_fail(error, "model %s is compiled for the device %s; its runtime knows the CPU alone",
                     view.text(header.name), view.text(header.device));
  }
  return check_required_isa(view, error);
}

/// The plans of all variants, the usual one first: the others have to agree with it.
int parse_plans(whet_model& model, whet_error* error) {
  if (parse_sizes(model.image.plan, model.image.plan_bytes, &model.plans, error) != 0) return -1;
  const std::uint32_t count = model.plans.variant_count(), usual = model.plans.usual();
  model.variants = static_cast<ModelVariant*>(calloc(count, sizeof(ModelVariant)));
  if (model.variants == nullptr) return whet_fail(error, "no memory to open the model");
  ModelView* const first = &model.variants[usual].view;
  if (parse_variant(model.plans, usual, nullptr, first, error) != 0 || check_usual(model, error) != 0) return -1;
  for (std::uint32_t v = 0; v < count; ++v) {
    if (v != usual && parse_variant(model.plans, v, first, &model.variants[v].view, error) != 0) return -1;
  }
  return 0;
}

/// Of plan_at, with descriptions of inputs and outputs behind it.
std::uint64_t variant_at_bytes(const whet_model& model, std::uint32_t v) {
  const PlanHeader& header = *model.variants[v].view.header;
  return plan_at_bytes(model.plans, v, model.variants[v].view) +
         (std::uint64_t{header.inputs.count} + header.outputs.count) * sizeof(whet_tensor_info);
}

/// The usual variant at the usual sizes, where its plan changes with them.
int find_usual(whet_model& model, whet_error* error) {
  for (std::uint32_t v = 0; v < model.plans.variant_count(); ++v) {
    if (!model.plans.changes(v)) continue;
    const std::uint64_t bytes = variant_at_bytes(model, v);
    if (bytes > model.variant_at_bytes) model.variant_at_bytes = bytes;
  }
  const std::uint32_t usual = model.plans.usual();
  if (!model.plans.changes(usual)) return 0;
  if (make_variant_at(model, &model.usual_at, error) != 0) return -1;
  return move_variant(model, usual, model.plans.usual_values(), &model.usual_at, error);
}

double flops_of(const ModelView& view) {
  double flops = 0;
  for (std::uint32_t i = 0; i < view.header->steps.count; ++i) flops += view.steps[i].flops;
  return flops;
}

int describe(whet_model& model, whet_error* error) {
  model.sizes = describe_sizes(model.plans);
  bool all = model.sizes != nullptr;
  for (std::uint32_t v = 0; all && v < model.plans.variant_count(); ++v) {
    ModelVariant& variant = model.variants[v];
    variant.inputs = describe_tensors(variant.view, variant.view.inputs, variant.view.header->inputs.count);
    variant.outputs = describe_tensors(variant.view, variant.view.outputs, variant.view.header->outputs.count);
    variant.worker_bytes = worker_bytes_of(variant.view);
    all = variant.inputs != nullptr && variant.outputs != nullptr;
  }
  if (!all) return whet_fail(error, "no memory to open the model");
  if (find_usual(model, error) != 0) return -1;
  model.info = describe_model(model.usual().view);
  if (model.plans.changes(model.plans.usual())) model.info.flops = flops_of(model.usual().view);
  return 0;
}

int fill(whet_model& model, const whet_open_options& options, const whet_open_source& source, whet_error* error) {
  if (parse_plans(model, error) != 0 || describe(model, error) != 0) return -1;
  return place_weights(model, source, options.map_weights != 0, error);
}

/// As much of it as the program has.
whet_open_source source_of(const whet_open_source* given) {
  whet_open_source source{};
  if (given != nullptr)
    memcpy(&source, given, given->struct_bytes < sizeof source ? given->struct_bytes : sizeof source);
  return source;
}

}  // namespace

int model_open(const ModelImage& image, const whet_open_options* options, whet_model** model, whet_error* error) {
  return model_open_from(image, options, nullptr, model, error);
}

int model_open_from(const ModelImage& image, const whet_open_options* given, const whet_open_source* source,
                    whet_model** out, whet_error* error) {
  const whet_open_options options = given != nullptr ? *given : whet_open_options{};
  *out = nullptr;
  void* memory = calloc(1, sizeof(whet_model));
  if (memory == nullptr) return whet_fail(error, "no memory to open the model");
  whet_model* model = new (memory) whet_model();
  model->image = image;
  if (fill(*model, options, source_of(source), error) != 0) {
    model_close(model);
    return -1;
  }
  *out = model;
  return 0;
}

void model_close(whet_model* model) {
  if (model == nullptr) return;
  pool_destroy(model->own_pool);
  if (model->image.weights_key != 0)
    close_weights(&model->own_weights);
  else if (model->weights != model->image.weights && model->weights != nullptr)
    return_weights_copy(model->weights);
  for (std::uint32_t v = 0; model->variants != nullptr && v < model->plans.variant_count(); ++v) {
    free(model->variants[v].inputs);
    free(model->variants[v].outputs);
  }
  free(model->variants);
  free_variant_at(&model->usual_at);
  free(model->sizes);
  model->~whet_model();
  free(model);
}

const whet_model_info* model_info(const whet_model* model) { return &model->info; }

const whet_tensor_info* model_input(const whet_model* model, std::uint32_t i) {
  return i < model->info.inputs ? &model->usual().inputs[i] : nullptr;
}

const whet_tensor_info* model_output(const whet_model* model, std::uint32_t i) {
  return i < model->info.outputs ? &model->usual().outputs[i] : nullptr;
}

std::uint32_t model_size_count(const whet_model* model) { return model->plans.size_count(); }

const whet_size_info* model_size(const whet_model* model, std::uint32_t k) {
  return k < model->plans.size_count() ? &model->sizes[k] : nullptr;
}

ModelShapes model_shapes(const whet_model* model) {
  return {&model->plans, model->sizes, model->usual().inputs, model->info.inputs};
}

int make_variant_at(const whet_model& model, VariantAt* at, whet_error* error) {
  at->memory = allocate_pages(static_cast<std::size_t>(model.variant_at_bytes));
  if (at->memory.ok()) return 0;
  return whet_fail(error, "no memory for %llu bytes of a plan",
                   static_cast<unsigned long long>(model.variant_at_bytes));
}

void free_variant_at(VariantAt* at) { free_pages(&at->memory); }

int move_variant(const whet_model& model, std::uint32_t number, const std::int64_t* values, VariantAt* at,
                 whet_error* error) {
  const ModelVariant& stored = model.variants[number];
  const PlanHeader& header = *stored.view.header;
  PlanAt plan;
  if (plan_at(model.plans, number, stored.view, values, at->memory.data, &plan, error) != 0) return -1;
  char* const behind = static_cast<char*>(at->memory.data) + plan_at_bytes(model.plans, number, stored.view);
  whet_tensor_info* const infos = reinterpret_cast<whet_tensor_info*>(behind);
  at->variant = {plan.view, infos, infos + header.inputs.count, stored.worker_bytes, plan.sizes};
  describe_tensors(plan.view, plan.view.inputs, header.inputs.count, at->variant.inputs);
  describe_tensors(plan.view, plan.view.outputs, header.outputs.count, at->variant.outputs);
  return 0;
}

int model_own_pool(whet_model* model, whet_pool** pool, whet_error* error) {
  const Locked locked(model->own_pool_lock);
  *pool = model->own_pool;
  if (*pool == nullptr && pool_create(nullptr, model->info.tuned_threads, pool, error) != 0) return -1;
  model->own_pool.store(*pool, std::memory_order_release);  // whole: another thread may fork now
  return 0;
}

}  // namespace whet
