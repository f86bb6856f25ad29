#include "device/local/gpus.h"

#include "base/message.h"
#include "runner/hello.h"
#include "runner/wire.h"
#include "runtime/cuda/device.h"

namespace whet {
namespace {

/// A driver that takes longer to start does not work [s].
constexpr double kSecondsToAnswer = 60;

/// What the process that looks for GPUs answers.
struct FoundGpus {
  std::string error;  ///< "" where there are GPUs
  std::vector<LocalGpu> gpus;
};

}  // namespace

template <>
constexpr auto kRow<GpuTarget> = row<&GpuTarget::arch, &GpuTarget::sms>;
template <>
constexpr auto kRow<LocalGpu> = row<&LocalGpu::name, &LocalGpu::target, &LocalGpu::memory, &LocalGpu::driver>;
template <>
constexpr auto kRow<FoundGpus> = row<&FoundGpus::error, &FoundGpus::gpus>;

const Life kFindGpus{"whet-gpus", [](int fd) {
                       Result<std::vector<LocalGpu>> found = find_gpus();
                       const FoundGpus answer =
                           found.ok() ? FoundGpus{"", std::move(*found)} : FoundGpus{found.error().message, {}};
                       if (send_hello(fd)) send_frame(fd, FrameType::gpus, encode(answer));
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
  std::optional<FoundGpus> found = decode<FoundGpus>(received.frame.payload);
  if (!found) return Error{"the answer of the process that looks for GPUs makes no sense", ErrorKind::internal};
  if (!found->error.empty()) return Error{std::move(found->error), ErrorKind::not_found};
  return std::move(found->gpus);
}

}  // namespace whet
