#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions that sum few channels: first layers, and convolutions in groups. Block memory holds the part of the
/// input that a block's results need once, and all taps read it there. The copies of a product's operands would hold it once a
/// tap. Weights are copied a row of taps at a time.
///   decisions: rows, columns, channels (threads of a block, and results of a thread along each axis); stages of the copy of
///   weights; min_blocks
/// Nothing for other DAGs.
std::optional<Sketch> patch_sketch(const ComputeDag&, const Target&);

}  // namespace whet
