#include "device/make_device.h"

namespace whet {

Result<std::unique_ptr<Device>> make_device(const Target& target, const DeviceOptions& options) {
  if (const DeviceKind* row = row_of(device_kinds(), target)) return row->make(target, options);
  return Error{"no device runs kernels for " + to_string(target)};
}

}  // namespace whet
