#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// A convolution or dense layer of bytes, u8 or i8 by constants of i8, four products an instruction (dp4a), with sums in
/// i32: a block computes a tile of rows and columns, each thread a part of it in its registers; both operands are copied into
/// block memory some steps of the sum ahead, their rows along the sum. Nothing where the DAG is no such product
/// (product_form.h), has few rows, or the terms of a sum are not whole fours.
std::optional<Sketch> dots_sketch(const ComputeDag&, const Target&);

}  // namespace whet
