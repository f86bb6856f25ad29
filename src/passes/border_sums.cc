#include "passes/border_sums.h"

#include <vector>

#include "graph/border.h"

namespace whet {
namespace {

/// Places times taps times output channels.
constexpr std::int64_t kMostWork = 1 << 26;

/// The dimensions of weights.
struct WeightDims {
  Shape taps;
  std::int64_t outputs = 1, inputs = 1;
  bool outputs_first = false;
};

WeightDims dims_of(const ConvOperator& op, const Shape& w) {
  const std::size_t spatial = op.strides.size();
  WeightDims dims;
  dims.outputs_first = op.layout == Layout::channels_first;
  const std::size_t first = dims.outputs_first ? 2 : 0;
  for (std::size_t d = 0; d < spatial; ++d) dims.taps.push_back(w[first + d]);
  dims.outputs = dims.outputs_first ? w[0] : w.back();
  if (w.size() > spatial + 1) dims.inputs = dims.outputs_first ? w[1] : w[spatial];
  return dims;
}

/// Of all inputs, for each tap and output channel.
std::vector<std::int64_t> sums_of_taps(const Tensor& w, const WeightDims& dims) {
  const std::int64_t taps = num_elements(dims.taps);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(taps * dims.outputs), 0);
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const std::int64_t tap = dims.outputs_first ? i % taps : i / (dims.inputs * dims.outputs);
    const std::int64_t output = dims.outputs_first ? i / (taps * dims.inputs) : i % dims.outputs;
    sums[static_cast<std::size_t>(tap * dims.outputs + output)] += w.integer(i);
  }
  return sums;
}

/// The index in `shape` of its element number `at`.
Shape index_in(const Shape& shape, std::int64_t at) {
  Shape index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) index[d] = at % shape[d];
  return index;
}

}  // namespace

std::optional<Tensor> border_sums(const ConvOperator& op, const Shape& x, const Tensor& w, const Shape& y) {
  const WeightDims dims = dims_of(op, w.shape());
  const Shape shape = border_bias_shape(op, x, w.shape(), y);
  const std::int64_t taps = num_elements(dims.taps), places = num_elements(shape) / dims.outputs;
  if (places * taps > kMostWork / dims.outputs) return std::nullopt;
  const std::vector<std::int64_t> of_taps = sums_of_taps(w, dims);
  const std::size_t first = op.layout == Layout::channels_last ? 1 : 2;
  Tensor sums(DType::i32, shape);
  for (std::int64_t place = 0; place < places; ++place) {
    const Shape at = index_in(Shape(shape.begin(), shape.end() - 1), place);
    const auto is_inside = [&](const Shape& tap) {
      for (std::size_t d = 0; d < tap.size(); ++d) {
        const BorderPlaces along = border_places(op, x, w.shape(), y, d);
        const std::int64_t position = at[d] <= along.begin ? at[d] : along.positions - along.count() + at[d];
        const std::int64_t from = position * op.strides[d] - op.pads_begin[d] + tap[d] * op.dilations[d];
        if (from < 0 || from >= x[first + d]) return false;
      }
      return true;
    };
    std::vector<std::int64_t> sum(static_cast<std::size_t>(dims.outputs), 0);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      if (!is_inside(index_in(dims.taps, tap))) continue;
      for (std::int64_t o = 0; o < dims.outputs; ++o)
        sum[static_cast<std::size_t>(o)] += of_taps[static_cast<std::size_t>(tap * dims.outputs + o)];
    }
    for (std::int64_t o = 0; o < dims.outputs; ++o)
      sums.set(place * dims.outputs + o, static_cast<double>(sum[static_cast<std::size_t>(o)]));
  }
  return sums;
}

}  // namespace whet
