#pragma once

#include <optional>
#include <vector>

#include "compute/affine.h"
#include "schedule/loop_tree.h"

namespace whet {

/// The integers base, base + 1, ..., base + extent - 1 along one axis. `base` is an expression over the digit variables
/// (VarId = DigitId) of the loops that are fixed; it may lie partly outside the axis, where a guard leaves the
/// elements alone.
struct Span {
  Expr base;
  std::int64_t extent = 1;
  Expr size = {};  ///< of a whole axis that has a size, its size: `extent` is the largest then
};
using Region = std::vector<Span>;  ///< one span an axis (of the result)

/// The variable of a leaf digit (0 where the digit has one value and counts no tiles), and 0 .. extent-1 as its range. The variables of sizes have ranges too.
Expr digit_var(const LoopTree&, DigitId);
Interval digit_range(const LoopTree&, VarId);

/// The value of a digit, and of an axis of a placed op, over the variables of leaf digits.
Expr digit_value(const LoopTree&, DigitId);
Expr axis_value(const LoopTree&, OpId, AxisId);

/// The box of values that an index expression (over digit variables) takes while `at` runs once: the digits of loops
/// inside `at` are relaxed to their ranges. An invalid `at` relaxes everything. Empty when the expression has no box
/// (its index is data, or products of variables): the whole axis must be taken then.
std::optional<Span> span_of(const LoopTree&, const Expr& index, LoopId at);

/// The elements of `op` that its own loops compute while `at` runs once.
Region computed_region(const LoopTree&, OpId op, LoopId at);
/// The elements of `producer` that its consumers whose leaves are inside `at` read while `at` runs once; where they are to
/// be stored in block memory, what those of all threads of the block read.
Region required_region(const LoopTree&, OpId producer, LoopId at, StoredIn stored_in = StoredIn::memory);

/// Where the buffer of `op` lives: the innermost loop around its leaf and all its consumers' leaves that is not one of
/// its reduce loops nor inside one; of a rolled op, the loop around the one that it is rolled along. Invalid: at the top,
/// whole tensor. Outputs live at the top.
LoopId storage_loop(const LoopTree&, OpId op);

}  // namespace whet
