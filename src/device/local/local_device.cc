#include "device/local/local_device.h"

#include <unistd.h>

#include "artifact/code_format.h"
#include "device/local/gpus.h"

namespace whet {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::int64_t memory_bytes() { return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

/// The request for the GPU of this number.
template <typename Request>
Request addressed(Request request, std::uint32_t number) {
  request.job.device = number;
  return request;
}

std::string described(const GpuTarget& gpu) {
  return "sm_" + std::to_string(gpu.arch) + " with " + std::to_string(gpu.sms) + " SMs";
}

}  // namespace

LocalDevice::LocalDevice(DeviceInfo info, const DeviceOptions& options, int number)
    : info_(std::move(info)),
      name_(options.name),
      number_(static_cast<std::uint32_t>(number)),
      runner_(*options.zygote, options.run_timeout, options.runner_recycle, options.interrupted),
      models_(*options.zygote, options.interrupted) {}

MeasureReply LocalDevice::measure(const MeasureRequest& request) {
  return number_ == 0 ? runner_.measure(request) : runner_.measure(addressed(request, number_));
}

CheckReply LocalDevice::check(const CheckRequest& request) {
  return number_ == 0 ? runner_.check(request) : runner_.check(addressed(request, number_));
}

Result<std::vector<ModelTimes>> LocalDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  ModelRun here = run;
  here.open.device = name_;
  here.open.times_alone = true;
  return models_.time(files, here);
}

Result<std::unique_ptr<Device>> make_local_cpu(const Target& target, const DeviceOptions& options) {
  DeviceInfo info{host_name(), target, code_format(target), 0, options.rates, memory_bytes()};
  return std::unique_ptr<Device>(std::make_unique<LocalDevice>(std::move(info), options));
}

Result<std::unique_ptr<Device>> make_local_gpu(const Target& target, const DeviceOptions& options) {
  DeviceInfo info{to_string(options.name), target, CodeFormat::emulated, 0, options.rates, memory_bytes()};
  const int number = options.name.number;
  if (options.name.kind != DeviceName::Kind::emulated) {
    WHET_TRY(const std::vector<LocalGpu> gpus, find_gpus(*options.zygote));
    const std::string name = "cuda:" + std::to_string(number);
    if (static_cast<std::size_t>(number) >= gpus.size())
      return Error{
          "there is no device " + name + "; the driver has " + std::to_string(gpus.size()) + ", counted from 0",
          ErrorKind::not_found};
    const LocalGpu& gpu = gpus[static_cast<std::size_t>(number)];
    if (!(gpu.target == target.gpu()))
      return Error{name + " (" + gpu.name + ") is " + described(gpu.target) + "; the target is " +
                   described(target.gpu())};
    info.name = gpu.name;
    info.code = code_format(target);
    info.driver = gpu.driver / 1000;
    info.memory = gpu.memory;
    info.beside_builders = false;
  }
  return std::unique_ptr<Device>(std::make_unique<LocalDevice>(std::move(info), options, number));
}

}  // namespace whet
