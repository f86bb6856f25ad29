#include "runtime/cuda/model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/clock.h"
#include "runtime/cuda/image.h"
#include "runtime/cuda/sm_memory.h"
#include "runtime/description.h"
#include "runtime/memory.h"
#include "runtime/process.h"

namespace whet {
namespace {

using Wide = unsigned long long;

constexpr int kPlainBlockMemory = 48 << 10;  ///< bytes that a block may have without asking

/// The plans, and that of the usual sizes.
int check_plan(const CudaModelImage& image, SizedView* plans, ModelView* view, whet_error* error) {
  if (parse_sizes(image.plan, image.plan_bytes, plans, error) != 0) return -1;
  if (parse_variant(*plans, plans->usual(), nullptr, view, error) != 0) return -1;
  const PlanHeader& header = *view->header;
  const char* device = view->text(header.device);
  if (strncmp(device, "cuda", 4) != 0) {
    return whet_fail(error, "model %s is compiled for \"%s\"; its runtime knows cuda alone", view->text(header.name),
                     device);
  }
  if (header.weights_bytes != image.weights_bytes || header.images_bytes != image.images_bytes) {
    return whet_fail(
        error, "the model's plan asks for %llu bytes of weights and %llu of images; there are %llu and %llu",
        Wide{header.weights_bytes}, Wide{header.images_bytes}, Wide{image.weights_bytes}, Wide{image.images_bytes});
  }
  return 0;
}

int no_image(const CudaModel& model, whet_error* error) {
  char list[128] = "";
  size_t length = 0;
  for (std::uint32_t i = 0; i < model.view.header->images.count && length < sizeof list; ++i) {
    const PlanImage& image = model.view.images[i];
    const char* format = image.format == PlanImageFormat::ptx     ? "PTX for sm_%u or newer"
                         : image.format == PlanImageFormat::cubin ? "a cubin for sm_%u"
                                                                  : "emulated code of sm_%u";
    if (i > 0) length += static_cast<size_t>(snprintf(list + length, sizeof list - length, ", "));
    if (length < sizeof list)
      length += static_cast<size_t>(snprintf(list + length, sizeof list - length, format, image.arch));
  }
  if (list[0] == '\0') snprintf(list, sizeof list, "none");
  if (model.context.driver->emulated)
    return whet_fail(error, "model %s has no code for the emulated device; it has %s", model.info.name, list);
  return whet_fail(error, "model %s has no code for cuda:%d (%s), which is sm_%d; it has %s", model.info.name,
                   model.context.info.number, model.context.info.name, model.context.info.arch, list);
}

/// Finds a launch's function and lets it have its block memory.
int find_function(CudaModel& model, std::uint32_t l, whet_error* error) {
  const PlanLaunch& launch = model.view.launches[l];
  const char* name = model.view.text(launch.entry);
  const CudaFunctions& call = model.context.driver->call;
  CUresult code = call.cuModuleGetFunction(&model.functions[l], model.module, name);
  if (code != 0) return cuda_device_fail(model.context, code, error, "find the kernel %s", name);
  if (launch.block_memory > static_cast<std::uint32_t>(model.context.info.block_memory)) {
    return whet_fail(error, "the kernel %s needs %u bytes of memory a block; cuda:%d (%s) has %d", name,
                     launch.block_memory, model.context.info.number, model.context.info.name,
                     model.context.info.block_memory);
  }
  if (launch.block_memory <= kPlainBlockMemory) return 0;
  code = call.cuFuncSetAttribute(model.functions[l], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(launch.block_memory));
  return code == 0 ? 0
                   : cuda_device_fail(model.context, code, error, "give %u bytes a block to the kernel %s",
                                      launch.block_memory, name);
}

int find_functions(CudaModel& model, whet_error* error) {
  const std::uint32_t launches = model.view.header->launches.count;
  model.functions = static_cast<CUfunction*>(calloc(std::size_t{launches} + 1, sizeof(CUfunction)));
  if (model.functions == nullptr) return whet_fail(error, "no memory to open the model");
  for (std::uint32_t l = 0; l < launches; ++l) {
    if (find_function(model, l, error) != 0) return -1;
  }
  return 0;
}

/// Between the kernels of all sizes.
int share_memory(CudaModel& model, whet_error* error) {
  std::uint32_t count = 0;
  for (std::uint32_t v = 0; v < model.plans.variant_count(); ++v)
    count += model.variants[v]->view.header->launches.count;
  auto* const kernels = static_cast<LaunchedKernel*>(calloc(std::size_t{count} + 1, sizeof(LaunchedKernel)));
  if (kernels == nullptr) return whet_fail(error, "no memory to open the model");
  count = 0;
  for (std::uint32_t v = 0; v < model.plans.variant_count(); ++v) {
    const CudaModel& variant = *model.variants[v];
    for (std::uint32_t l = 0; l < variant.view.header->launches.count; ++l) {
      const PlanLaunch& launch = variant.view.launches[l];
      kernels[count++] = {variant.functions[l], launch.grid[0] * launch.grid[1] * launch.grid[2],
                          launch.block[0] * launch.block[1] * launch.block[2], launch.block_memory};
    }
  }
  const CUresult code = share_sm_memory(model.context, kernels, count);
  free(kernels);
  return code == 0 ? 0 : cuda_device_fail(model.context, code, error, "share the SMs' memory between the kernels");
}

int load_code(CudaModel& model, whet_error* error) {
  const PlanImage* image = choose_image(model.view, model.context.info.arch, model.context.driver->emulated);
  if (image == nullptr) return no_image(model, error);
  int loaded = load_image(model.context, *image, model.image.images, &model.module, error);
  if (loaded != 0 && image->format == PlanImageFormat::cubin) {
    // A driver refuses machine code of a newer assembler than its own; PTX it reads all the same.
    image = choose_image(model.view, model.context.info.arch, false, false);
    if (image != nullptr) loaded = load_image(model.context, *image, model.image.images, &model.module, error);
  }
  if (loaded != 0) return -1;
  write_image_name(*image, model.image_name, sizeof model.image_name);
  if (find_functions(model, error) != 0) return -1;
  for (std::uint32_t v = 0; v < model.plans.variant_count(); ++v) {
    CudaModel& variant = *model.variants[v];
    if (&variant == &model) continue;
    variant.context = model.context;
    variant.module = model.module;
    if (find_functions(variant, error) != 0) return -1;
  }
  return share_memory(model, error);
}

int upload_weights(CudaModel& model, whet_error* error) {
  const std::uint64_t bytes = model.image.weights_bytes;
  if (bytes == 0) return 0;
  if (allocate_cuda_memory(model.context, bytes, "the weights", &model.weights, error) != 0) return -1;
  const CudaFunctions& call = model.context.driver->call;
  CUstream stream = nullptr;
  CUresult code = call.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (code == 0) code = call.cuMemcpyHtoDAsync_v2(model.weights, model.image.weights, bytes, stream);
  if (code == 0) code = call.cuStreamSynchronize(stream);
  if (stream != nullptr) call.cuStreamDestroy_v2(stream);
  if (code != 0) return cuda_device_fail(model.context, code, error, "upload the weights");
  const char* begin = static_cast<const char*>(model.image.weights);
  if (model.image.file_backed) drop_pages(begin, begin + bytes);
  return 0;
}

void describe_device(CudaModel& model, double load_seconds) {
  const CudaDeviceInfo& info = model.context.info;
  write_cuda_version(model.context.driver->version, model.driver_version);
  model.device = {sizeof(whet_device_info),
                  info.number,
                  info.name,
                  info.uuid,
                  model.driver_version,
                  model.image_name,
                  static_cast<std::uint32_t>(info.arch),
                  static_cast<std::uint32_t>(info.multiprocessors),
                  info.memory_bytes,
                  load_seconds};
}

int open_on_device(CudaModel& model, const CudaDriver& driver, int number, whet_error* error) {
  int count = 0;
  if (count_cuda_devices(driver, &count, error) != 0) return -1;
  if (number < 0 || number >= count) {
    return whet_fail(error, "there is no device cuda:%d; the driver has %d, counted from 0", number, count);
  }
  if (open_cuda_context(driver, number, &model.context, error) != 0) return -1;
  const CurrentContext current(model.context);
  if (current.code() != 0) return cuda_device_fail(model.context, current.code(), error, "make its context current");
  const std::uint64_t begin = now_ns();
  if (load_code(model, error) != 0 || upload_weights(model, error) != 0) return -1;
  describe_device(model, static_cast<double>(now_ns() - begin) / 1e9);
  for (std::uint32_t v = 0; v < model.plans.variant_count(); ++v) {
    model.variants[v]->weights = model.weights;
    model.variants[v]->device = model.device;
  }
  return 0;
}

/// Of a variant whose plan has been parsed.
int describe(CudaModel& model, std::uint32_t flags, whet_error* error) {
  model.flags = flags;
  model.info = describe_model(model.view);
  model.inputs = describe_tensors(model.view, model.view.inputs, model.view.header->inputs.count);
  model.outputs = describe_tensors(model.view, model.view.outputs, model.view.header->outputs.count);
  return model.inputs != nullptr && model.outputs != nullptr ? 0 : whet_fail(error, "no memory to open the model");
}

/// The models of all sizes, this one among them.
int make_variants(CudaModel& model, whet_error* error) {
  const std::uint32_t count = model.plans.variant_count();
  model.sizes = describe_sizes(model.plans);
  model.variants = static_cast<CudaModel**>(calloc(count, sizeof(CudaModel*)));
  if (model.sizes == nullptr || model.variants == nullptr) return whet_fail(error, "no memory to open the model");
  for (std::uint32_t v = 0; v < count; ++v) {
    if (model.plans.changes(v)) {
      return whet_fail(error, "the model's plan: variant %u has kernels for several sizes; its runtime knows none", v);
    }
    if (v == model.plans.usual()) {
      model.variants[v] = &model;
      continue;
    }
    CudaModel* const variant = model.variants[v] = static_cast<CudaModel*>(calloc(1, sizeof(CudaModel)));
    if (variant == nullptr) return whet_fail(error, "no memory to open the model");
    variant->image = model.image;
    variant->process = model.process;
    if (parse_variant(model.plans, v, &model.view, &variant->view, error) != 0) return -1;
    if (describe(*variant, model.flags, error) != 0) return -1;
  }
  return 0;
}

void free_lists(CudaModel* model) {
  free(static_cast<void*>(model->functions));
  free(model->inputs);
  free(model->outputs);
}

int fill(CudaModel& model, const CudaDriver& driver, const whet_device_options& options, whet_error* error) {
  if (check_plan(model.image, &model.plans, &model.view, error) != 0) return -1;
  if (describe(model, options.flags, error) != 0 || make_variants(model, error) != 0) return -1;
  return open_on_device(model, driver, options.device, error);
}

}  // namespace

whet_device_options read_options(const whet_device_options* given) {
  whet_device_options options{};
  if (given != nullptr) {
    memcpy(&options, given, given->struct_bytes < sizeof options ? given->struct_bytes : sizeof options);
  }
  return options;
}

int cuda_model_open(const CudaModelImage& image, const CudaDriver& driver, const whet_device_options* options,
                    CudaModel** out, whet_error* error) {
  *out = nullptr;
  CudaModel* model = static_cast<CudaModel*>(calloc(1, sizeof(CudaModel)));
  if (model == nullptr) return whet_fail(error, "no memory to open the model");
  model->image = image;
  model->process = process_number();
  if (fill(*model, driver, read_options(options), error) != 0) {
    cuda_model_close(model);
    return -1;
  }
  *out = model;
  return 0;
}

void cuda_model_close(CudaModel* model) {
  if (model == nullptr) return;
  // A child after fork() may not call the driver: what is on the device is the parent's.
  if (model->context.handle != nullptr && model->process == process_number()) {
    const CudaFunctions& call = model->context.driver->call;
    {
      const CurrentContext current(model->context);
      if (model->weights != 0) call.cuMemFree_v2(model->weights);
      if (model->module != nullptr) call.cuModuleUnload(model->module);
    }
    close_cuda_context(&model->context);
  }
  for (std::uint32_t v = 0; model->variants != nullptr && v < model->plans.variant_count(); ++v) {
    CudaModel* const variant = model->variants[v];
    if (variant == nullptr || variant == model) continue;
    free_lists(variant);
    free(variant);
  }
  free(static_cast<void*>(model->variants));
  free(model->sizes);
  free_lists(model);
  free(model);
}

int cuda_device_count(const CudaModelImage& image, const CudaDriver& driver, std::uint32_t* count, whet_error* error) {
  *count = 0;
  SizedView plans;
  ModelView view;
  if (check_plan(image, &plans, &view, error) != 0) return -1;
  int devices = 0;
  if (count_cuda_devices(driver, &devices, nullptr) != 0) return 0;
  for (int number = 0; number < devices; ++number) {
    CudaDeviceInfo info;
    if (describe_cuda_device(driver, number, &info, error) != 0) return -1;
    if (choose_image(view, info.arch, driver.emulated) != nullptr) ++*count;
  }
  return 0;
}

ModelShapes cuda_model_shapes(const CudaModel& model) {
  return {&model.plans, model.sizes, model.inputs, model.info.inputs};
}

int check_usable(const CudaModel& model, whet_error* error) {
  if (model.process != process_number()) {
    return whet_fail(error, "CUDA cannot be used after fork(); open the model in the child");
  }
  return check_cuda_device(model.context, error);
}

}  // namespace whet
