#pragma once

#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Slices and paddings as TensorFlow has them: parts, see arithmetic.h.
namespace whet {

/// A slice by lists of starts, ends and steps, an entry a dimension. Bit i of a mask is about entry i: its start or its end is
/// open; it stands for all dimensions that no entry is of; it is a new dimension of extent 1; it takes one place, and its
/// dimension goes.
struct StridedSlice {
  std::vector<std::int64_t> starts, ends, steps;
  std::int64_t open_starts = 0, open_ends = 0, ellipsis = 0, is_new = 0, goes = 0;
};
/// Errors: lists of different lengths, more than 31 entries, two ellipses, more entries than dimensions, steps of 0.
Result<ValueId> strided_slice(NodeSite&, ValueId x, const StridedSlice&);

/// Padded by its own mirror image, the edge with it. `pads`: before each dimension, then behind each. Errors: negative ones,
/// and more than an extent.
Result<ValueId> symmetric_pad(NodeSite&, ValueId x, const std::vector<std::int64_t>& pads);

/// Blocks of the dimensions behind the batch become batches: dimension d + 1 is padded by `pads` (before and behind: two
/// entries a dimension) and taken in steps of `block`[d]. And back, where `crops` are cut off.
Result<ValueId> space_to_batch(NodeSite&, ValueId x, const std::vector<std::int64_t>& block,
                               const std::vector<std::int64_t>& pads);
Result<ValueId> batch_to_space(NodeSite&, ValueId x, const std::vector<std::int64_t>& block,
                               const std::vector<std::int64_t>& crops);

/// Images of either layout: blocks of channels become blocks of pixels, and back. Errors: what does not divide.
Result<ValueId> blocks_to_pixels(NodeSite&, ValueId x, std::int64_t block, Layout);
Result<ValueId> pixels_to_blocks(NodeSite&, ValueId x, std::int64_t block, Layout);

}  // namespace whet
