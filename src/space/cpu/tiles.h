#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions and matrix products of bf16 or bytes for a processor with a unit of tiles: up to six tiles of sums,
/// each of up to 16 pixels by 16 channels, weights packed as the unit reads them, the epilogue on the finished tiles. A padded
/// picture is copied with its border first, row by row.
///   decisions: rows (pixels in a tile), across, down and channels (tiles of pixels along a row, of rows, of channels), words (of a
///              step of the reduction), order (of the outer loops), parallel (how many outer loops the workers divide)
/// Returns nothing where the DAG is not of this form, or the target has no such unit.
std::optional<Sketch> tiles_sketch(const ComputeDag&, const Target&);

}  // namespace whet
