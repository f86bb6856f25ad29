#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// swizzle — 16-byte parts of the rows of an op's block memory change places with the row (program/swizzle.h).
///   T[r] = a b c d e f g h   swizzle(T, 128)  =>   T[0] = a b c d e f g h, T[1] = b a d c f e h g, T[2] = c d a b g h e f, ..
/// So the parts at one place of eight rows lie in different banks, as behind rows that are padded, and no memory is lost.
///   op      computed in block memory, unpadded, with rows of 64 to 1024 bytes, a power of two
///   bytes   64 or 128, at most a row: parts change places inside of pieces that long
///   errors  another op, other rows; swizzled already
struct SwizzleStorage {
  OpId op;
  std::int64_t bytes;
};
Status apply(LoopTree&, const SwizzleStorage&);

/// Bytes of a row of the buffer of an op that is not one number.
std::int64_t row_bytes(const LoopTree&, OpId);

}  // namespace whet
