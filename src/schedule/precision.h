#pragma once

#include <optional>

#include "program/intrinsic.h"
#include "target/precision.h"

namespace whet {

/// What the intrinsic rounds operands to; f32 where it rounds nothing.
Precision precision_of(Intrinsic);
/// How an operand is rounded; nothing for f32.
std::optional<MathFn> rounding_of(Precision);

}  // namespace whet
