#pragma once

#include <cstddef>
#include <vector>

#include "tensor/shape.h"

namespace whet {

/// The dimensions [in_begin, in_end) of a reshape's input hold the same elements as [out_begin, out_end) of its result.
struct ReshapePart {
  std::size_t in_begin, in_end, out_begin, out_end;
};

/// Divides a reshape into the finest parts of equal element counts, outermost first. Both shapes have the same element
/// count, which is not 0.
std::vector<ReshapePart> reshape_parts(const Shape& in, const Shape& out);

}  // namespace whet
