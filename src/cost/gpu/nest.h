#pragma once

#include <cstdint>
#include <vector>

#include "schedule/loop_tree.h"

namespace whet {

constexpr double kSectorBytes = 32;  ///< what caches exchange

/// An access of an op, as the warps of a block make it.
struct LaunchAccess {
  enum class Memory : std::uint8_t { registers, local, block, global };
  Memory memory = Memory::registers;
  OpId tensor;
  bool store = false;
  bool constant = false;  ///< of a tensor that is known ahead of time
  double requests = 0;    ///< instructions of one thread while its block runs
  double width = 1;       ///< elements that a thread reads or writes at once
  double run = 1;         ///< neighbours that what is unrolled touches
  double sectors = 0;     ///< that one request of a warp touches; global memory alone
  /// Cycles that one request keeps the SM's access to memory busy: one for 128 bytes or, of global memory, a line that it touches.
  double passes = 0;
  double least_passes = 0;  ///< without bank conflicts
  double bytes = 0;         ///< that a block takes from beyond its SM
};

/// An op of a launch: what one thread runs of it, and how many warps of the block do so. Counts are of one run of the block.
struct OpWork {
  OpId op;
  double warps = 1;
  double trips = 1;                       ///< iterations of loops that stay loops
  double body = 1;                        ///< statements of what is unrolled inside them
  double multiply_adds = 0;               ///< instructions on f32 lanes; a product added to a sum is one
  Intrinsic intrinsic = Intrinsic::none;  ///< warp-wide, of its tiles
  double tiles = 0;                       ///< of the intrinsic, that a warp computes
  double conversions = 0;                 ///< roundings of an operand to tf32; a pair of f16 or bf16 is a third of one
  double to_tf32 = 0;                     ///< of these to tf32
  double operands = 0;                    ///< registers that hold operands of a step of tiles
  double functions = 0;                   ///< calls of exp and the like
  double sums = 0;                        ///< registers that hold its elements
  double exchanges = 0;  ///< values that a thread gets from another one, one after the other, for sums across threads
  double turned = 0;     ///< words that the threads of a row exchange, a step at a time, before they are stored
  bool copies = false;   ///< it only moves elements into block memory
  bool rounds = false;   ///< it rounds what it moves there, or scales numbers of 16 bits, by way of registers
  double held = 0;       ///< registers of a thread that hold a trip's elements, where they are stored behind the work
  std::vector<LaunchAccess> accesses;
};

/// A launch of the kernel that a tree lowers to: one root bound to blocks, or neighbouring roots that are not.
struct LaunchWork {
  double blocks = 1;
  int threads = 32;               ///< of a block; a multiple of 32
  int registers = 0;              ///< of a thread; an estimate
  std::int64_t block_memory = 0;  ///< bytes of a block, without the few words in which warps exchange sums
  double slabs = 0;               ///< times that a block fills its memory
  std::int64_t stages = 1;        ///< of the pipeline that does so
  double sums = 0;                ///< registers of a thread that hold elements
  bool reads_ahead = false;       ///< tiles' operands, behind the barrier: registers hold those of two steps
  std::vector<OpWork> nests;
};

/// In the order in which they run. The tree may be one for a CPU: what is bound to nothing runs in one thread.
std::vector<LaunchWork> gpu_launches(const LoopTree&);

}  // namespace whet
