#pragma once

#include <cstdint>
#include <optional>

#include "schedule/steps.h"
#include "target/target.h"

namespace whet {

/// How an op without a reduction runs in a nest of its own.
struct ElementPlan {
  std::int64_t vectors = 1;  ///< native vectors in a step along the innermost axis
  std::int64_t pixels = 1;   ///< elements of the axis before it that a step holds
  std::int64_t across = 1;   ///< of a transpose: elements of a tile along the axis that is read along; with 8 or 16 a
                             ///< plain one is turned in registers
  static constexpr std::int64_t kAlone = -1;
  std::int64_t shared = 0;  ///< outer loops that become the parallel one; 0: as few as give every worker its share;
                            ///< kAlone: none
  Target target;
};

/// Shares the op's nest out and vectorizes it. A transpose goes by tiles, so that whole cache lines are read and
/// written; channels that are dealt out alternately (a shuffle: loads at c % 2 and c / 2) go by turns, and
/// repeated channels (loads at c % 28) block by block, so that loads are contiguous.
void element_nest(Scheduler&, OpId, const ElementPlan&);

/// Neighbours along the innermost axis are read at quotients or remainders of it: a vector is gathered. Not where they
/// are dealt out alternately or repeated block by block, nor where one of several sources is chosen.
bool gathers(const ComputeDag&, OpId op);

/// A step holds a group of neighbours along another axis, which the op tells apart by the remainder of their place:
/// values that they share are computed once (sums up to each place).
std::optional<std::size_t> axis_of_groups(const ComputeDag&, OpId op);

/// A tensor is read along another axis than the op's innermost one, along which its result is stored.
bool is_transpose(const ComputeDag&, OpId);

/// The tile of a plain transpose that is turned in registers: 16, or 8 where that covers much less behind the ends; 0
/// where there is none.
std::int64_t turned_tile(const ComputeDag&, OpId);

/// The last of the axes with more than one element; the first where there is none.
std::size_t last_axis(const std::vector<Axis>&);

}  // namespace whet
