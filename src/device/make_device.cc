#include "device/make_device.h"

namespace whet {

Result<std::unique_ptr<Device>> make_device(const Target& target, const DeviceOptions& options) {
  if (const DeviceKind* row = row_of(device_kinds(), target)) return row->make(target, options);
  return has_device(target).error();
}

Status has_device(const Target& target) {
  if (row_of(device_kinds(), target)) return ok_status();
  return Error{"no device here runs kernels for \"" + to_string(target) + "\"", ErrorKind::unsupported};
}

}  // namespace whet
