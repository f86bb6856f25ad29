#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// pad_storage — the rows of an op's buffer lie further apart.
///   T[r][c] at r * n + c   pad_storage(T, p)  =>   T[r][c] at r * (n + p) + c
/// Rows whose distance is a multiple of 4096 bytes share the sets of the first-level cache; a line more between them
/// ends that.
///   op        computed into a buffer of its own: no input, no output, not inlined, not in registers
///   elements  1 .. kMaxPadding, behind each row of the innermost dimension
///   errors    another op; padded already
struct PadStorage {
  OpId op;
  std::int64_t elements;
};
constexpr std::int64_t kMaxPadding = 1024;
Status apply(LoopTree&, const PadStorage&);

}  // namespace whet
