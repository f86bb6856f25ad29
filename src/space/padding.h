#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// Returns, for each position of the taps along the spatial axis number `axis`, the indices [first, second) at which the
/// op reads the picture and not its padding. The list is empty where nothing is padded along that axis, or where the
/// padding is not a select of 0.
std::vector<std::pair<std::int64_t, std::int64_t>> unpadded(const Element&, std::int64_t axis);

}  // namespace whet
