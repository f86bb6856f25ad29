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

/// What is known of the variables that two accesses use. Both see the same block where `one_block`.
struct AccessContext {
  VarId block, thread;
  std::int64_t blocks = 1, threads = 1;
  bool one_block = true;
  std::vector<VarId> common;  ///< loops whose variable has one value for both; that of any other loop differs
  RangeOf range;
};

/// Who can meet whom in an element that both accesses touch.
enum class Meeting { one_thread, one_block, anybody };
/// What is proven. Each index is read as a sum of digits of the block's and the thread's number and of loops. Where an index
/// is equal for both, so is each digit whose factor exceeds what the others can add up to, or whose part is smaller than
/// what divides all the others.
Meeting who_meets(const BufferAccess&, const BufferAccess&, const AccessContext&);

/// Proves that no element is touched by both, whatever the threads: some dimension keeps them apart, as stages of a pipeline.
bool are_disjoint(const BufferAccess&, const BufferAccess&, const AccessContext&);

}  // namespace whet
