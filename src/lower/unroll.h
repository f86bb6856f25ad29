#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Replaces each unrolled loop by copies of its body.
/// Needs:  constant bounds.  Else: an error that names the loop. At most kMaxUnrolledStores stores come out.
/// Leaves: no unrolled loop; each variable bound once; the same values are computed.
Result<Program> unroll_loops(Program);

constexpr std::int64_t kMaxUnrolledStores = 20000;

}  // namespace whet
