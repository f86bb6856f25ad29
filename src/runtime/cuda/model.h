#pragma once

#include <cstdint>

#include "artifact/sized_plan.h"
#include "runtime/cuda/device.h"
#include "runtime/shapes.h"
#include "whet/model.h"

namespace whet {

/// Alignment of the memory of arena, inputs and outputs on the device. Tensors inside it are aligned by the plan.
constexpr std::uint64_t kDeviceAlignment = 256;

/// A model compiled for CUDA, in memory. In a compiled library the linker fills one, named whet_cuda_image: the layout is
/// part of the contract with the compiler's object writer.
struct CudaModelImage {
  const void* plan;  ///< model_format.h, 64-byte aligned
  std::uint64_t plan_bytes;
  const void* images;  ///< the section that the plan's images point into
  std::uint64_t images_bytes;
  const void* weights;
  std::uint64_t weights_bytes;
  std::uint64_t file_backed;  ///< 1: the weights are unchanged pages of a file and may be dropped once uploaded
};

/// An open model on a device. Immutable: sessions of several threads share it. Of a library for several sizes there is one for
/// each choice; the others share what the usual one has on the device.
struct CudaModel {
  CudaModelImage image;
  SizedView plans;        ///< of the usual one, as the next two
  CudaModel** variants;   ///< the models of all choices, itself among them
  whet_size_info* sizes;  ///< describe_sizes
  ModelView view;
  whet_model_info info;
  whet_tensor_info* inputs;
  whet_tensor_info* outputs;
  CudaContext context;
  std::uint32_t process;  ///< the process_number that opened it
  std::uint32_t flags;
  CUmodule module;
  CUfunction* functions;  ///< one a launch of the plan
  CUdeviceptr weights;
  whet_device_info device;
  char driver_version[16], image_name[32];
};

/// The options: a copy of the program's struct as far as its size goes, with zeros behind it.
whet_device_options read_options(const whet_device_options* given);

/// See whet_api. `image` and `driver` outlive the model.
int cuda_model_open(const CudaModelImage& image, const CudaDriver& driver, const whet_device_options* options,
                    CudaModel** model, whet_error* error);
void cuda_model_close(CudaModel* model);
/// Devices whose architecture one of the model's images is for; 0 where the driver does not start.
int cuda_device_count(const CudaModelImage& image, const CudaDriver& driver, std::uint32_t* count, whet_error* error);

/// The shapes that its inputs may have, of the usual one.
ModelShapes cuda_model_shapes(const CudaModel& model);

/// 0, or a sentence where the model cannot be used: after a fork, or when its device was lost.
int check_usable(const CudaModel& model, whet_error* error);

}  // namespace whet
