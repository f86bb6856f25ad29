#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions that sum few channels: first layers, and convolutions in groups. The part of the input that a
/// block's results need is in block memory once, and all taps are read from it; copying a product's operands would copy it
/// once a tap. Weights are copied a row of taps at a time.
///   decisions: rows, columns, channels (threads of a block, and results of a thread along each axis); stages of the copy of
///   weights; min_blocks
/// Nothing for other DAGs.
std::optional<Sketch> patch_sketch(const ComputeDag&, const Target&);

}  // namespace whet
