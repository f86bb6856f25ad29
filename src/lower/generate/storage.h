#pragma once

// Internal to generation: the buffers of a kernel, made before its statements.

#include <map>
#include <vector>

#include "lower/lower.h"
#include "schedule/regions.h"

namespace whet {

/// Where the elements of an op are.
struct Stored {
  BufferId buffer;
  std::vector<Expr> base;   ///< where the buffer starts within the tensor, one an axis
  Expr stage;               ///< first index: the stage of a pipeline; undefined where there is none
  std::size_t turning = 0;  ///< axis along which the buffer is a sliding window
  std::int64_t turn = 0;    ///< length of the window in elements; 0: no window
};

/// The registers that hold the elements of an op while `loop` runs once.
struct Cached {
  LoopId loop;
  Stored stored;
};

/// The partial results of an op's reduction, one a lane.
struct Partial {
  LoopId outermost;  ///< of the op's reduce loops
  DigitId lane;
  Stored stored;                 ///< one axis more than the op: the lane
  std::vector<BufferId> halves;  ///< the steps in which lanes are combined, from many lanes to 2
  BufferId total;                ///< of lanes that are threads: all of them combined; invalid elsewhere
};

/// A constant in the order in which its reader reads it.
struct Packed {
  BufferId buffer;
  std::vector<DigitId> digits;  ///< of the loops around the reader, outermost first
};

struct Storage {
  Lowered lowered;             ///< with all arguments, buffers and the packing, and without a body
  std::vector<Stored> stored;  ///< one an op; of an op without a buffer: no buffer
  std::map<OpId, Cached> caches;
  std::map<OpId, Partial> partials;
  std::map<OpId, BufferId>
      scales;                 ///< of online sums by their product: what each row so far is multiplied by in a step
  std::vector<Packed> packs;  ///< as in the tree

  const Stored& of(OpId op) const { return stored[op.index()]; }
  /// The packed form of `tensor` that `reader` reads, or null.
  const Packed* pack_of(const LoopTree&, OpId tensor, OpId reader) const;
};

/// The buffers of all ops with loops, of inputs that some op reads unpacked, of packs, caches and partial results.
///   within  as for `lower`, with the dimensions merged that the output has merged
Storage make_storage(const LoopTree&, const Shape& within);

/// `reader` reads the constant `tensor` packed.
bool is_packed(const LoopTree&, OpId tensor, OpId reader);
/// Adds an argument of the kernel and its buffer.
BufferId add_argument(Lowered&, const KernelArgument&, const std::string& name, bool constant);
/// The packed constants (packs.cc).
///   packing_ids  the ops of the packing that compute constants of the tree, by the tree's ops; added to
void make_packs(const LoopTree&, Storage&, std::map<OpId, OpId>& packing_ids);

}  // namespace whet
