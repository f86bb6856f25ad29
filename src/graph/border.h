#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace whet {

/// The positions of a window along one spatial dimension, by the taps that lie in the picture there: the first `begin` and the
/// last `end` of them reach into the padding and have a place each, all between them share one.
struct BorderPlaces {
  std::int64_t begin = 0, end = 0, positions = 1;

  std::int64_t count() const { return begin + 1 + end; }
  /// 0..count() - 1
  std::int64_t of(std::int64_t position) const;
};

/// Along spatial dimension `d` of a convolution over `x`, with weights `w` and the result `y`.
BorderPlaces border_places(const ConvOperator&, const Shape& x, const Shape& w, const Shape& y, std::size_t d);

/// The shape of a bias with one value for each place and output channel.
Shape border_bias_shape(const ConvOperator&, const Shape& x, const Shape& w, const Shape& y);

}  // namespace whet
