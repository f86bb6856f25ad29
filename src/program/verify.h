#pragma once

#include "program/program.h"

namespace whet {

struct VerifyOptions {
  /// After lowering, register buffers are indexed by constants alone, and no loop is marked vectorized or unrolled.
  bool lowered = false;
};

/// Checks a Program's invariants (program.h): variables are bound once and used inside their binding, dtypes and lanes
/// agree, bounds are constant where they must be, parallel loops and barriers are at the top, and only `written`
/// arguments are stored to.
/// PROVES that every access is inside its buffer, from the bounds of loops, the conditions around it (ifs, selects) and
/// masks. An access that cannot be proven is refused, and the error names it.
Status verify(const Program&, const VerifyOptions& = {});

}  // namespace whet
