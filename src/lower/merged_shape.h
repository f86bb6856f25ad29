#pragma once

#include <optional>

#include "tensor/shape.h"

namespace whet {

/// The shape of `whole` with the same dimensions merged as in `part`. The last dimension is never merged. Nothing where
/// a merged dimension of the part covers a dimension of the whole only partly.
std::optional<Shape> merged_like(const Shape& part, const Shape& whole);

}  // namespace whet
