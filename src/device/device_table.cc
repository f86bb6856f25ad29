#include "device/local/local_device.h"
#include "device/make_device.h"

namespace whet {
namespace {

constexpr DeviceKind kDeviceKinds[] = {
    {"cpu", make_local_cpu},
    {"cuda", make_local_gpu},
};

}  // namespace

std::span<const DeviceKind> device_kinds() { return kDeviceKinds; }

}  // namespace whet
