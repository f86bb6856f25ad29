#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/size.h"
#include "ranges/ranges.h"

namespace whet {

// The sizes of a variant, cut into pieces along the one of them that is a range.

/// Whether the variant has these values of the network's sizes.
bool has_point(const Variant&, const SizeValues& at);
/// The only size of a variant that has several values; nothing where there is none, or more than one.
///   sizes  how many the network has
std::optional<std::size_t> only_range(const Variant&, std::size_t sizes);
/// Between the points of two pieces: the largest value of the first piece, in the middle by the logarithm.
std::int64_t last_before(std::int64_t point, std::int64_t next);
/// The values low .. high of size `k`, whose range is `range`, in the boxes of the variant.
std::vector<SizeBox> clipped(const Variant&, std::size_t k, const SizeRange& range, std::int64_t low,
                             std::int64_t high);

}  // namespace whet
