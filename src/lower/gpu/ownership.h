#pragma once

#include <vector>

#include "compute/affine.h"
#include "program/program.h"

namespace whet {

/// One access inside of a launch. Its index is a function of the launch's two indices and of the loops around.
struct BufferAccess {
  BufferId buffer;
  bool store = false;
  std::vector<Expr> index;
  std::vector<Expr> conditions;  ///< that hold where it is made
};

/// Facts about the variables that two accesses use. With `one_block` both accesses are in the same block.
struct AccessContext {
  VarId block, thread;
  std::int64_t blocks = 1, threads = 1;
  bool one_block = true;
  std::vector<VarId> common;  ///< loops whose variable has one value for both; that of any other loop differs
  RangeOf range;
};

/// The threads that can touch one element by the two accesses: the same thread, threads of one block, or any.
enum class Meeting { one_thread, one_block, anybody };
/// The smallest case that is proven. Each index is read as a sum of digits: of the block's number, the thread's number and loops.
/// Where an index is equal for both accesses, two kinds of digits are equal too: one whose factor exceeds the largest sum of all the
/// others, and one whose largest part is smaller than a number that divides all the others.
Meeting who_meets(const BufferAccess&, const BufferAccess&, const AccessContext&);

/// Proves that no element is touched by both accesses, of whichever threads: in some dimension their indices always differ, as the
/// stages of a pipeline do.
bool are_disjoint(const BufferAccess&, const BufferAccess&, const AccessContext&);

}  // namespace whet
