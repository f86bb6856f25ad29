#pragma once

#include <optional>
#include <vector>

#include "codegen/cpu/expr_table.h"
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
  std::vector<TileOperand> operands;
};

/// Looks whether the loop, marked or not by its schedule, still is what the intrinsic's definition says, with operands
/// that lie as code generation needs them. Empty: it is to run as a loop.
std::optional<IntrinsicTile> recognise_tile(const Loop&, ExprTable&);

}  // namespace whet
