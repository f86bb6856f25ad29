#pragma once

#include <cstdint>
#include <optional>

#include "schedule/steps.h"
#include "target/target.h"

namespace whet {

/// The plan by which an op without a reduction runs in a nest of its own.
struct ElementPlan {
  std::int64_t vectors = 1;  ///< native vectors in a step along the innermost axis
  std::int64_t pixels = 1;   ///< elements of the axis before it that a step holds
  std::int64_t across = 1;   ///< of a transpose: elements of a tile along the axis of contiguous reads; with 8 or 16 a
                             ///< plain one is transposed in registers
  static constexpr std::int64_t kAlone = -1;
  std::int64_t shared = 0;  ///< outer loops that become the parallel one; 0: as few as give every worker its share;
                            ///< kAlone: none
  Target target;
};

/// Divides the nest of the op among the workers and vectorizes it. A transpose is computed tile by tile, so that whole
/// cache lines are read and written. Interleaved channels (a shuffle: loads at c % 2 and c / 2) are computed source by
/// source, and repeated channels (loads at c % 28) block by block, so that loads are contiguous.
void element_nest(Scheduler&, OpId, const ElementPlan&);

/// True where neighbours along the innermost axis are read at quotients or remainders of it, so that vectors are
/// gathered. False where they are interleaved or repeated block by block, and where one of several sources is chosen.
bool gathers(const ComputeDag&, OpId op);

/// Returns the axis along which a step holds a group of neighbours that the op distinguishes by the remainder of their
/// index, so that values that they share are computed once (sums up to each index); nothing where there is none.
std::optional<std::size_t> axis_of_groups(const ComputeDag&, OpId op);

/// True where a tensor is contiguous along another axis than the innermost one of the op, along which the result is stored.
bool is_transpose(const ComputeDag&, OpId);

/// Returns the tile of a plain transpose that is transposed in registers: 16, or 8 where that computes much less beyond
/// the ends; 0 where there is none.
std::int64_t turned_tile(const ComputeDag&, OpId);

/// Returns the last of the axes with more than one element; the first where there is none.
std::size_t last_axis(const std::vector<Axis>&);

}  // namespace whet
