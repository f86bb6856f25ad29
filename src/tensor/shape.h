#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// Extents, outermost first; {} is a scalar. An extent may be 0.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar.
std::int64_t num_elements(const Shape&);
/// Row-major strides in elements.
std::vector<std::int64_t> row_major_strides(const Shape&);
/// "1x3x224x224"; "scalar" for {}.
std::string to_string(const Shape&);

}  // namespace whet
