#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Moves prefetches that stand before several statements in between them, each into the middle of its share.
/// A core has 10 to 16 cache lines on their way at a time: where as many are asked for in a row, the loads behind them
/// wait. Between the products of an unrolled tile they cost nothing; between its steps the scheduler would gather loads
/// behind them, and a tile that fills the registers would lose its place in them.
/// Needs:  unrolled loops already copied.
/// Leaves: the order of all other statements, and that of the prefetches.
Result<Program> spread_prefetches(Program);

}  // namespace whet
