#pragma once

#include "device/device.h"

namespace whet {

/// The rates that the threads of `target` reach together on a device for its kernels' processors, measured now by kernels that the
/// device times like any other. Zeros where a kernel fails there, or the device is no CPU.
MachineRates measure_device_rates(Device&, const Target&, const CpuPlacement&);

}  // namespace whet
