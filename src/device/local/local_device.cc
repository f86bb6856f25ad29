#include "device/local/local_device.h"

#include <unistd.h>

namespace whet {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::int64_t memory_bytes() { return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

}  // namespace

LocalDevice::LocalDevice(Target target, const DeviceOptions& options)
    : info_{host_name(), std::move(target), options.rates, memory_bytes()},
      runner_(*options.zygote, options.run_timeout, options.runner_recycle, options.interrupted),
      models_(*options.zygote, options.interrupted) {}

}  // namespace whet
