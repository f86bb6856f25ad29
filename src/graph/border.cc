#include "graph/border.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "graph/infer.h"

namespace whet {

std::int64_t BorderPlaces::of(std::int64_t position) const {
  return std::min(position, begin) + std::max<std::int64_t>(position - (positions - 1 - end), 0);
}

BorderPlaces border_places(const ConvOperator& op, const Shape& x, const Shape& w, const Shape& y, std::size_t d) {
  const std::size_t first = channel_place(op.layout, x.size()).first_spatial;
  const std::int64_t taps = w[op.layout == Layout::channels_first ? 2 + d : d], extent = x[first + d];
  const std::int64_t positions = y[first + d], reach = op.dilations[d] * (taps - 1);
  // Positions from `from` on begin in the picture, those below `below` end there.
  const std::int64_t from = ceil_div(op.pads_begin[d], op.strides[d]),
                     below = ceil_div(std::max<std::int64_t>(extent + op.pads_begin[d] - reach, 0), op.strides[d]);
  const std::int64_t begin = std::min(from, positions - 1);
  return {begin, std::clamp<std::int64_t>(positions - below, 0, positions - 1 - begin), positions};
}

Shape border_bias_shape(const ConvOperator& op, const Shape& x, const Shape& w, const Shape& y) {
  Shape shape;
  for (std::size_t d = 0; d < op.strides.size(); ++d) shape.push_back(border_places(op, x, w, y, d).count());
  const std::int64_t channels = y[channel_place(op.layout, x.size()).channel];
  shape.push_back(op.layout == Layout::channels_blocked ? channels * y.back() : channels);
  return shape;
}

}  // namespace whet
