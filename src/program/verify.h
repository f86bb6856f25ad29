#pragma once

#include "program/program.h"
#include "target/gpu.h"

namespace whet {

struct VerifyOptions {
  /// After lowering: no loop is marked vectorized or unrolled.
  bool lowered = false;
  /// Accesses and divisors are proven. False for a program between two lowering passes, where a proof may fail although
  /// nothing is wrong: before guards are resolved and simplified, and where indices are flat.
  bool proofs = true;
  /// A variable is bound once in the whole program. False where copies of a statement have not been renamed apart: it
  /// may be bound again after its binding has ended.
  bool bound_once = true;
  /// The program is one of launches, on a GPU with these limits. Null: it is a CPU's, or has no launches yet.
  const GpuLimits* launches = nullptr;
};

/// Checks a Program's invariants (program.h).
///   structure  variables are bound once and used inside their binding; operands are defined; dtypes and lanes agree;
///              an access has one index, or one a dimension; bounds are constant where they must be; parallel loops and
///              barriers are at the top level; arguments are stored to only if `written`. Always checked.
///   sizes      argument 0 holds the values of sizes, and extents that are functions of them are within the largest
///              extents. Always checked.
///   proofs     every access is inside its buffer, whose extents are those at run time, for all sizes of the ranges, and every
///              divisor of index arithmetic is other than 0, from the bounds of loops, the conditions around (ifs, selects)
///              and masks. What cannot be proven is refused.
///   launches   every statement at the top is a launch or a grid barrier, and the loops inside are those of one thread;
///              what all threads do together is under control flow that is the same for all (barriers, copy groups)
///              or for the whole warp (cross stores, tiles of warps), whatever the data; asynchronous stores copy 4, 8 or
///              16 bytes into block memory, which holds all buffers of a launch; an SM holds the blocks that it asks for.
///              Checked with `VerifyOptions::launches`. That a vector is aligned is not: it may be accessed by scalars.
///   Errors     name the program and the loop, variable or access.
Status verify(const Program&, const VerifyOptions& = {});

}  // namespace whet
