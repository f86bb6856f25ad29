#pragma once

#include "program/program.h"

namespace whet {

struct VerifyOptions {
  /// After lowering: register buffers are indexed by constants alone, and no loop is marked vectorized or unrolled.
  bool lowered = false;
};

/// Checks a Program's invariants (program.h): variables are bound once and used inside their binding, dtypes and lanes
/// agree, bounds are constant where they must be, parallel loops and barriers stand at the top, arguments are stored to
/// only if `written`; and PROVES that every access is inside its buffer, from the bounds of loops, the conditions
/// around it (ifs, selects) and masks. What cannot be proven is refused; the error names the access.
Status verify(const Program&, const VerifyOptions& = {});

}  // namespace whet
