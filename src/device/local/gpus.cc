#include "device/local/gpus.h"

#include "runner/hello.h"
#include "runner/wire.h"
#include "runtime/cuda/device.h"

namespace whet {
namespace {

/// A driver that takes longer to start does not work [s].
constexpr double kSecondsToAnswer = 60;

std::string encode(const Result<std::vector<LocalGpu>>& gpus) {
  Packer p;
  p.text(gpus.ok() ? "" : gpus.error().message);
  p.u64(gpus.ok() ? gpus->size() : 0);
  if (!gpus.ok()) return p.take();
  for (const LocalGpu& gpu : *gpus) {
    p.text(gpu.name);
    p.u32(static_cast<std::uint32_t>(gpu.target.arch));
    p.u32(static_cast<std::uint32_t>(gpu.target.sms));
    p.i64(gpu.memory);
    p.u32(static_cast<std::uint32_t>(gpu.driver));
  }
  return p.take();
}

Result<std::vector<LocalGpu>> decode(std::string_view payload) {
  Unpacker u(payload);
  if (std::string error = u.text(); !error.empty()) return Error{std::move(error), ErrorKind::not_found};
  std::vector<LocalGpu> gpus;
  for (std::size_t n = u.count(28); n > 0; --n) {
    LocalGpu gpu;
    gpu.name = u.text();
    gpu.target.arch = static_cast<int>(u.u32());
    gpu.target.sms = static_cast<int>(u.u32());
    gpu.memory = u.i64();
    gpu.driver = static_cast<int>(u.u32());
    gpus.push_back(std::move(gpu));
  }
  if (!u.done()) return Error{"the answer of the process that looks for GPUs makes no sense", ErrorKind::internal};
  return gpus;
}

}  // namespace

const Life kFindGpus{"whet-gpus", [](int fd) {
                       if (send_hello(fd)) send_frame(fd, FrameType::gpus, encode(find_gpus()));
                       return 0;
                     }};

Result<std::vector<LocalGpu>> find_gpus() {
  const CudaDriver* driver = nullptr;
  whet_error error{};
  int count = 0;
  if (system_cuda_driver(&driver, &error) != 0 || count_cuda_devices(*driver, &count, &error) != 0)
    return Error{error.message, ErrorKind::not_found};
  std::vector<LocalGpu> gpus;
  for (int number = 0; number < count; ++number) {
    CudaDeviceInfo info;
    if (describe_cuda_device(*driver, number, &info, &error) != 0) return Error{error.message, ErrorKind::not_found};
    gpus.push_back(
        {info.name, {info.arch, info.multiprocessors}, static_cast<std::int64_t>(info.memory_bytes), driver->version});
  }
  return gpus;
}

Result<std::vector<LocalGpu>> find_gpus(Zygote& zygote) {
  WHET_TRY(WorkerProcess process, zygote.spawn(kFindGpus));
  const ReceiveResult received = receive_frame(process.fd, kSecondsToAnswer);
  const ProcessEnd end = zygote.end(process, !received.ok);
  if (!received.ok || received.frame.type != FrameType::gpus)
    return Error{"the CUDA driver did not tell its devices: " + end.text(), ErrorKind::not_found};
  return decode(received.frame.payload);
}

}  // namespace whet
