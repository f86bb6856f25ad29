#pragma once

#include <cstdint>
#include <vector>

#include "schedule/loop_tree.h"

namespace whet {

/// An access of an op to one tensor, described by the loops around the op.
struct Access {
  OpId tensor;
  bool store = false;
  const Load* load = nullptr;  ///< the first of them, valid as long as the tree; null: the store
  bool packed = false;  ///< stored in the order of the reader's loops: every cache line that is touched is used whole
  double element_bytes = 4;
  double times = 1;                        ///< loads in the body that differ in constant offsets alone
  std::vector<double> sizes;               ///< extent of each dimension of the tensor
  std::vector<std::vector<double>> spans;  ///< [dimension][loop]: elements that one run of the loop adds to the extent

  /// The number of elements that are touched while the loops from `depth` on run once.
  double elements(std::size_t depth) const;
  /// The bytes of the whole cache lines that are touched meanwhile.
  double bytes(std::size_t depth) const;
  bool depends_on(std::size_t loop) const;
  /// The distance between the elements that the first and the last iteration of `loop` touch, in elements of the tensor.
  double reach(std::size_t loop) const;
};

/// The loops around one op's statement, outermost first, and the accesses and operations of the statement. Sizes are
/// estimates where tails, guards and floor divisions make them inexact: nothing here decides what is legal.
struct Nest {
  struct Loop {
    double extent = 1;
    LoopKind kind = LoopKind::serial;
    bool reduce = false;
    bool own = true;  ///< a loop of the op itself, not of the op that it is computed under
    bool joined =
        false;  ///< one instruction takes what all its iterations read, and adds it up (Intrinsic::dot2, tile_bf16)
  };
  OpId op;
  std::vector<Loop> loops;
  std::vector<Access> accesses;     ///< the store first
  double flops = 0, calls = 0;      ///< of one run of the statement
  std::size_t registers_from = 0;   ///< the loops from here on keep the op's elements in registers; loops.size(): none
  bool lives_in_registers = false;  ///< the op's own buffer is registers, whoever reads it

  /// The number of times that the statement runs.
  double runs() const { return trips(0, loops.size()); }
  double trips(std::size_t from, std::size_t to) const;
  /// The first loop of the innermost stretch of unrolled and vectorized loops.
  std::size_t block() const;
};

/// One nest for each op that has loops, in the order of ops.
std::vector<Nest> nests_of(const LoopTree&);

}  // namespace whet
