#pragma once

#include "target/cpu_isa.h"

namespace whet {

/// The instruction sets that this processor offers and that this system has switched on. Needs libc alone.
IsaSet host_isa();

/// The system gives tiles to processes that ask for them (Linux 5.16, and no filter of system calls against it).
bool offers_tiles();

/// Asks for the tiles, which all threads of this process have from then on, and children that it forks; a program that is started
/// has to ask anew. False where the system refuses: a thread may have a signal stack that is too small for them (errno is
/// ENOSPC then). Whoever runs kernels that have tiles calls it before.
bool permit_tiles();

}  // namespace whet
