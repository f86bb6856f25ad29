#pragma once

#include <cstdint>

#include "artifact/kernel_args.h"
#include "base/result.h"

namespace whet {

/// The first frame of a runner and of a builder: what it shares with whet beyond the wire, whose version every frame
/// has.
struct Hello {
  std::uint32_t kernel_args = WHET_KERNEL_ARGS_VERSION;  ///< artifact/kernel_args.h, of kernels that are native_object
};

/// False when the other end is gone.
bool send_hello(int fd, const Hello& = {});
/// Waits for the other end's hello. An error says what it speaks and what this program speaks, or that none came.
Status receive_hello(int fd, double timeout_seconds);

}  // namespace whet
