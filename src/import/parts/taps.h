#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Images sampled at computed points: each point takes a few pixels of each dimension, gathers them, and combines them
/// by their weights. Numbers of places are f32.
namespace whet {

/// What is read outside of an image.
enum class Outside : std::uint8_t { zeros, border, reflection };

struct Sampling {
  ResizeMode mode = ResizeMode::linear;
  Outside outside = Outside::zeros;
  bool align = false;  ///< reflected at the centres of the outer pixels, else at their outer edges
};

/// One of the pixels of a dimension that a point takes: its number (i32), and its weight (none: 1).
struct Tap {
  ValueId index;
  std::optional<ValueId> weight;
};
/// The taps of one dimension at `places`, in pixels from the centre of the first.
Result<std::vector<Tap>> taps_of(NodeSite&, const Sampling&, ValueId places, double extent);

/// Images as rows of pixels, [N, pixels, C].
struct Pixels {
  ValueId rows;
  Shape extents;  ///< of an image
};
/// Of images [N, C, ...].
Result<Pixels> channels_last_pixels(NodeSite&, ValueId images);

/// [N, points, C]: pixels times weights of every combination of the dimensions' taps, combined. Indices and weights
/// broadcast to the points of all images.
Result<ValueId> sampled(NodeSite&, const Pixels&, const std::vector<std::vector<Tap>>& taps,
                        BinaryKind combine = BinaryKind::add);

}  // namespace whet
