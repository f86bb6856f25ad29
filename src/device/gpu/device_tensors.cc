#include "device/gpu/device_tensors.h"

namespace whet {

Result<std::unique_ptr<DeviceTensors>> DeviceTensors::open(const CudaDriver& driver, int number) {
  std::unique_ptr<DeviceTensors> opened(new DeviceTensors());
  whet_error error{};
  int count = 0;
  if (count_cuda_devices(driver, &count, &error) != 0 ||
      open_cuda_context(driver, number, &opened->context_, &error) != 0)
    return Error{error.message};
  return opened;
}

DeviceTensors::~DeviceTensors() {
  if (context_.handle == nullptr) return;
  {
    const CurrentContext current(context_);
    for (const CUdeviceptr pointer : pointers_) context_.driver->call.cuMemFree_v2(pointer);
  }
  close_cuda_context(&context_);
}

Result<void*> DeviceTensors::add(std::uint64_t bytes, const void* data) {
  whet_error error{};
  const CudaFunctions& call = context_.driver->call;
  const CurrentContext current(context_);
  CUdeviceptr pointer = 0;
  if (allocate_cuda_memory(context_, bytes, "a tensor", &pointer, &error) != 0) return Error{error.message};
  pointers_.push_back(pointer);
  CUstream stream = nullptr;
  CUresult code = 0;
  if (data != nullptr && bytes > 0) {
    code = call.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (code == 0) code = call.cuMemcpyHtoDAsync_v2(pointer, data, bytes, stream);
    if (code == 0) code = call.cuStreamSynchronize(stream);
    if (stream != nullptr) call.cuStreamDestroy_v2(stream);
  }
  if (code != 0) {
    cuda_device_fail(context_, code, &error, "copy a tensor to the device");
    return Error{error.message};
  }
  return reinterpret_cast<void*>(pointer);
}

}  // namespace whet
