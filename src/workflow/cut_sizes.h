#pragma once

#include <cstdint>
#include <vector>

#include "compute/size.h"
#include "ranges/ranges.h"

namespace whet {

// The sizes of a variant, cut into pieces.

/// Whether the variant has these values of the network's sizes.
bool has_point(const Variant&, const SizeValues& at);
/// Whether size `k` has several values in the variant.
bool changes(const Variant&, std::size_t k);
/// Between the points of two pieces: the largest value of the first piece, in the middle by the logarithm.
std::int64_t last_before(std::int64_t point, std::int64_t next);
/// The values low .. high of size `k`, whose range is `range`, in these boxes.
std::vector<SizeBox> clipped(std::vector<SizeBox> boxes, std::size_t k, const SizeRange& range, std::int64_t low,
                             std::int64_t high);

}  // namespace whet
