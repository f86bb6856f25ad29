#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "runtime/cuda/device.h"

namespace whet {

/// Memory of a GPU for the inputs and outputs of a model, as a program has it that hands tensors over by DLPack. It is given
/// back with the object. One thread uses it.
class DeviceTensors {
 public:
  /// Opens the device's primary context, which the model shares.
  static Result<std::unique_ptr<DeviceTensors>> open(const CudaDriver&, int number);
  DeviceTensors(const DeviceTensors&) = delete;
  ~DeviceTensors();

  /// `bytes` bytes, 256-byte aligned, with what `data` points to; null: with anything.
  Result<void*> add(std::uint64_t bytes, const void* data);

 private:
  DeviceTensors() = default;

  CudaContext context_{};
  std::vector<CUdeviceptr> pointers_;
};

}  // namespace whet
