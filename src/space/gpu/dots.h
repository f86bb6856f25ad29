#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of a convolution or dense layer of bytes: u8 or i8 by constants of i8, four products an instruction (dp4a), sums
/// in i32. A block computes a tile of rows and columns, each thread a part of it in its registers. Both operands are copied into
/// block memory some steps of the sum ahead, with the terms of a sum contiguous. Nothing where the DAG is no such product
/// (product_form.h), has few rows, or the number of terms is no multiple of four.
std::optional<Sketch> dots_sketch(const ComputeDag&, const Target&);

}  // namespace whet
