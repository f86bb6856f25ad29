#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/loop_tree.h"
#include "target/gpu.h"

namespace whet {

/// The values of an integer expression in the lanes of a warp.
struct Lanes {
  bool uniform = true;  ///< all lanes have the value of lane 0; the others are not set
  std::array<std::int32_t, kWarp> value = {};

  std::int32_t operator[](std::size_t lane) const { return value[uniform ? 0 : lane]; }
};

/// The elements along an axis of the result that the buffer of a computed op holds. Where a guard cuts a split, the whole split counts.
std::int64_t buffer_extent(const LoopTree&, OpId op, std::size_t axis);

/// Evaluates the indices of a loop tree's ops for 32 iterations of some loops at once. All other loops have index 0. An index
/// that is data counts as 0.
class LaneValues {
 public:
  explicit LaneValues(const LoopTree& tree) : tree_(tree), digits_(tree.digits.size()) {}

  /// Lane k of `op` gets iteration `first` + k of the nest of `loops`, outermost first, modulo the number of iterations.
  void run_over(OpId op, std::span<const LoopId> loops, std::int64_t first = 0);
  /// Position [elements] that the op stores to, or that one of its loads reads: in the tensor, or in its buffer where it is
  /// computed at a loop.
  Lanes stored() const { return flat(op_, axes_); }
  Lanes loaded(const Load&) const;

 private:
  Lanes digit(DigitId) const;
  Lanes flat(OpId tensor, std::span<const Lanes> index) const;
  /// `axes`: the values of variables; empty: variables are digits.
  Lanes value(const Expr&, std::span<const Lanes> axes) const;

  const LoopTree& tree_;
  OpId op_;
  std::vector<Lanes> digits_, axes_;
};

}  // namespace whet
