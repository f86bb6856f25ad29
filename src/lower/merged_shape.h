#pragma once

#include <optional>

#include "tensor/shape.h"

namespace whet {

/// The shape of the whole with those dimensions merged that the part has merged, the last one never; nothing where the
/// part has only some of them.
std::optional<Shape> merged_like(const Shape& part, const Shape& whole);

}  // namespace whet
