#pragma once

#include "program/program.h"
#include "tensor/tensor.h"

namespace whet::testing {

/// A product of matrices, out[16, 32] = x[16, 20] * w[20, 32], by 4 blocks of 64 threads. The threads copy tiles of 4
/// steps asynchronously into block memory of `stages` stages, and each thread adds up 2 elements. The other members make
/// mistakes.
struct CopiedTile {
  int stages = 3;
  bool first_barrier = true;  ///< one stage: between the work and the copies that overwrite what it reads
  bool barrier = true;        ///< between a thread's wait and other threads' reads
  bool barrier_after_wait = true;
  bool waits = true;
  int waits_longer = 0;  ///< added to the groups that may be under way after the wait
  bool commits = true;
  bool empty_commits = true;  ///< also where nothing is left to copy
  int read_stage = 0;         ///< added to the stage that the work reads
  int fewer_stages = 0;       ///< of the buffers
  bool narrow = false;        ///< the last element of a tile of w is not copied
  bool twice = false;         ///< two threads copy each element of a tile of x
  bool refill_last = false;   ///< the copies of a later tile begin behind the work
};
Program copied_tile(const CopiedTile&);

/// x, w and a zero out.
std::vector<Tensor> tile_arguments(std::uint64_t seed);
/// What `copied_tile` puts into its argument 2.
Tensor tile_product(const std::vector<Tensor>& arguments);

}  // namespace whet::testing
