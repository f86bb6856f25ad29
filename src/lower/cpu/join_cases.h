#pragma once

#include "program/program.h"

namespace whet {

/// Moves neighbouring stores into the two cases of one condition where some of them choose by it. The stores are of bytes to
/// every fourth place: code generation makes words of them.
///   if c { A } else { B }; if c { C } else { D }; E   =>   if c { A; C; E } else { B; D; E }
/// Needs:  unrolled loops already copied, indices flat.
/// Leaves: the same values computed.
Program join_cases(Program);

}  // namespace whet
