#pragma once

#include <optional>
#include <vector>

#include "codegen/expr_table.h"
#include "program/program.h"

namespace whet {

/// A strided box of a buffer: element (a, b, ...) at base + a * strides[0] + b * strides[1] + ..., by the intrinsic's
/// axes; 0 along those that the operand does not have.
struct TileOperand {
  BufferId buffer;
  Linear base;
  std::vector<std::int64_t> strides;
};

/// A loop nest that an intrinsic computes: the result, then what it loads, in the order of its placeholders.
struct IntrinsicTile {
  Intrinsic intrinsic = Intrinsic::none;
  std::vector<std::int64_t> extents;  ///< by the intrinsic's axes; the definition's, or fewer in a tile product
  std::vector<TileOperand> operands;
};

/// Matches a loop nest with the definitions of the intrinsics, whether or not its schedule marks it. Empty where none
/// matches, or where an operand has strides that code generation does not support: the nest then runs as loops.
std::optional<IntrinsicTile> recognise_tile(const Loop&, ExprTable&);

}  // namespace whet
