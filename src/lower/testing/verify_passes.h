#pragma once

#include <string_view>

#include "base/result.h"
#include "lower/passes.h"
#include "program/program.h"

namespace whet::testing {

/// A PassObserver for tests: verifies the program that a pass of a CPU's table leaves.
///   after "generate" and each pass   the structure (program/verify.h)
///   after "verify"                   the proofs too: before it guards are not resolved, after it indices are flat
///   after "vectorize"                the structure, but copies bind a variable again, which "unroll" renames
///   from "unroll" on                 that no loop is left to be expanded too
/// Errors: `verify`'s.
Status verify_pass(std::string_view pass, const Program&);
/// The same of passes for a GPU, from "map_threads" on: what comes before has no launches yet.
PassObserver verify_gpu_passes(const Target&);

}  // namespace whet::testing
