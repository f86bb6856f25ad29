#pragma once

#include <string>

#include "program/verify_state.h"

namespace whet {

/// The rules of what the 32 threads of a warp do together, inside a launch: the whole warp does it, whatever the data. Faults go to the state.

/// A store of another thread's value: the other is of the same warp, and the value goes to registers or local memory.
void verify_exchange(VerifyState&, const Store&, const std::string& what);
/// An access of a row that four lanes have together (Buffer::quad) is of an element that the thread has. `column` is its last index.
void verify_own_column(VerifyState&, const Expr& column, const std::string& what);
/// The loop of a warp-wide intrinsic: it is a tile (program/warp_tile.h) that the GPU has instructions for, between block memory and
/// registers, and lane 4g + q has row 8i + g of the left operand and column 2q + j of the right one.
void verify_tile(VerifyState&, const Loop&);

}  // namespace whet
