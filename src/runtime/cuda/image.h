#pragma once

#include <cstdint>

#include "artifact/model_format.h"
#include "runtime/cuda/device.h"

namespace whet {

/// The image of a plan that a device of this architecture runs: a cubin of equal major and no larger minor number, the
/// nearest; else the newest PTX that is not newer than the device. An emulated device runs emulated code, of whatever
/// architecture. Null where there is none. Without `cubins` they are left out.
const PlanImage* choose_image(const ModelView& view, int arch, bool emulated = false, bool cubins = true);

/// "PTX for sm_80"
void write_image_name(const PlanImage& image, char* text, std::uint64_t bytes);

/// Loads an image into the device's context, which is current. The driver compiles PTX, with as many threads as it chooses
/// where it can use several. `images` begins the section of images; PTX ends in a zero there. A refusal names the versions of the
/// driver and the image, and the last line of the compiler's log.
int load_image(const CudaContext& context, const PlanImage& image, const void* images, CUmodule* module,
               whet_error* error);

}  // namespace whet
