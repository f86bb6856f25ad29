#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Distributes prefetches that come before several statements among them, each into the middle of its share.
/// A core fetches 10 to 16 cache lines at a time. If a program prefetches as many in a row, the loads after them wait.
/// Prefetches between the products of an unrolled tile cost nothing. Between the steps of a tile they would make LLVM's
/// scheduler gather loads behind them, and a tile that fills the registers would spill.
/// Needs:  unrolled loops already copied.
/// Leaves: the order of all other statements, and the order of the prefetches.
Result<Program> spread_prefetches(Program);

}  // namespace whet
