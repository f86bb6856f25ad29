#pragma once

#include <string_view>

namespace whet {

/// How far the shapes of two workload keys are apart: the sum of |log2| of the ratios of their extents. Infinity for keys
/// of different structure: the candidates of one are of no use to the other.
double shape_distance(std::string_view key, std::string_view other);

}  // namespace whet
