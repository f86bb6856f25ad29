#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/dag.h"
#include "program/intrinsic.h"
#include "space/cpu/register_tile.h"
#include "target/target.h"

namespace whet {

/// The roles of the axes of an op that reduces, from which register tiles are cut.
struct TileAxes {
  Element element;
  std::int64_t vec = 0;            ///< innermost result axis, which is vectorized: output channels
  std::int64_t x = -1, y = -1;     ///< the two axes before it, where their extent is above 1
  std::int64_t blocks = -1;        ///< the axis over blocks of output channels, where `vec` is one block of several
  std::int64_t in = -1;            ///< the reduce axis that is blocked: input channels, or those of a block
  std::int64_t in_blocks = -1;     ///< the reduce axis over blocks of input channels
  std::vector<std::int64_t> taps;  ///< the other reduce axes
  Tiling tiling;
  /// Products of bytes or of bf16 of which one instruction adds up several, a word of each factor: the reduction goes by words.
  Intrinsic dot = Intrinsic::none;
  std::int64_t word = 1;  ///< elements
  /// Products of bytes over taps alone: the taps of a column are neighbours, whose bytes code generation joins.
  bool byte_taps = false;

  std::int64_t extent(std::int64_t axis) const {
    return axis < 0 ? 1 : element.axes[static_cast<std::size_t>(axis)].extent;
  }
  std::int64_t reduce_extent(std::int64_t axis) const {
    return axis < 0 ? 1 : element.reduce_axes[static_cast<std::size_t>(axis)].extent;
  }
  std::int64_t out_channels() const { return extent(blocks) * extent(vec); }
  std::int64_t in_channels() const { return reduce_extent(in_blocks) * reduce_extent(in); }
  /// Steps of the innermost reduction.
  std::int64_t in_steps() const { return reduce_extent(in) / word; }
  std::int64_t element_bytes() const { return 4 / word; }
  /// Input channels that stay together when the reduction is cut.
  std::int64_t in_block() const { return in_blocks < 0 ? 1 : reduce_extent(in); }
};

/// Merges the two axes before the innermost one, and the batch before these, as far as that goes. Gives the axes that were merged,
/// in the order of the steps.
std::vector<std::int64_t> merge_pixels(ComputeDag&, OpId anchor);

/// Returns nothing where vectors along the innermost result axis would be gathers, or where there is no such axis.
std::optional<TileAxes> find_tile_axes(const ComputeDag&, OpId, const Target&);

}  // namespace whet
