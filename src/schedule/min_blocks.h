#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// min_blocks — an SM of a GPU is to hold at least `blocks` blocks of a launch at once.
///   block i in N { S }   min_blocks(i, n)  =>   the same, where a thread has at most 65,536 / (threads · n) registers
/// More warps hide each other's waiting; without the bound a kernel may take the registers for early loads.
///   loop    the first block loop of a launch
///   blocks  1 .. kMaxMinBlocks
///   errors  another loop; asked for already. `lower` refuses more threads or blocks than the target's SM holds
struct MinBlocks {
  LoopId loop;
  std::int64_t blocks;
};
constexpr std::int64_t kMaxMinBlocks = 32;
Status apply(LoopTree&, const MinBlocks&);

}  // namespace whet
