#include "device/local/local_device.h"
#include "device/make_device.h"

namespace whet {
namespace {

template <typename Kind>
std::unique_ptr<Device> make(const Target& target, const DeviceOptions& options) {
  return std::make_unique<Kind>(target, options);
}

constexpr DeviceKind kDeviceKinds[] = {
    {"cpu", make<LocalDevice>},
};

}  // namespace

std::span<const DeviceKind> device_kinds() { return kDeviceKinds; }

}  // namespace whet
