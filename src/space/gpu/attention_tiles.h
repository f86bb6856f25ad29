#pragma once

#include <cstdint>

#include "program/intrinsic.h"
#include "space/gpu/product_tile.h"

namespace whet {

// What the templates of attention on tensor cores have in block memory.

/// An operand, with elements behind its rows so that the lanes that read it meet different banks.
struct OperandTile {
  std::int64_t rows, columns, pad, element_bytes;
  std::int64_t bytes() const { return rows * (columns + pad) * element_bytes; }
};
/// A left operand, or a right one whose rows lie along the terms.
OperandTile left_tile(Intrinsic, std::int64_t rows, std::int64_t columns, std::int64_t bytes);
OperandTile right_tile(Intrinsic, std::int64_t rows, std::int64_t columns, std::int64_t bytes);

std::int64_t largest_divisor(std::int64_t of, std::int64_t most);
/// How threads fill a tile of whole tiles of the intrinsic: every step is whole, or the memory would have rows and columns behind them.
TileCopy whole_copy(const OperandTile&, std::int64_t lanes, std::int64_t threads);
/// Cuts and binds the loops over rows and columns of a copy of the operand.
void fill_operand(Scheduler&, OpId, LoopId rows, LoopId columns, const OperandTile&, std::int64_t threads);

}  // namespace whet
