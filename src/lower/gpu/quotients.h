#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Quotients and remainders of indices get names before the store that uses them, outside of its vector or intrinsic:
///   vector k { u[k] = select(floordiv(p, 28) >= 1, x[floordiv(p, 28) - 1, k], 0) }
///     =>  let q = floordiv(p, 28); vector k { u[k] = select(q >= 1, x[q - 1, k], 0) }
/// So the condition of a padded access and its index use the same variable, which is computed once.
/// Needs:  launches.  Leaves: the same values computed.
Result<Program> name_quotients(Program);

}  // namespace whet
