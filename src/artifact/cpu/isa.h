#pragma once

#include "target/cpu_isa.h"

namespace whet {

/// The instruction sets that this processor offers and that this system has switched on. Needs libc alone.
IsaSet host_isa();

}  // namespace whet
