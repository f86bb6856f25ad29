#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Replaces each unrolled loop by copies of its body.
/// Needs:  constant bounds; at most kMaxUnrolledStores stores in the copies.
/// Leaves: no unrolled loop; each variable bound once; the same values computed.
/// Errors: name the loop that breaks a need.
Result<Program> unroll_loops(Program);

constexpr std::int64_t kMaxUnrolledStores = 20000;

}  // namespace whet
