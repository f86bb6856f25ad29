#include <algorithm>

#include "import/onnx/importers.h"

// LRN is x / (bias + alpha / size * (sum of the squares of `size` channels around each))^beta. A few channels are summed
// as slices, which fuse into one kernel whatever the layout; more of them would take minutes to compile.

namespace whet {
namespace {

constexpr std::int64_t kMostSlices = 16, kMostChannels = 4096;

/// The channels that channel c sums: c - before .. c + behind.
struct Window {
  std::int64_t before, behind;
  std::int64_t size() const { return before + 1 + behind; }
};

/// One slice for each channel of the window.
Result<ValueId> sum_of_slices(OnnxSite& site, ValueId x, const Window& window) {
  const Shape shape = site.type(x).shape;
  PadOperator pad{PadMode::constant, 0, Shape(shape.size(), 0), Shape(shape.size(), 0)};
  pad.begin[1] = window.before;
  pad.end[1] = window.behind;
  WHET_TRY(const ValueId padded, site.add("padded", pad, {x}));
  ValueId sum;
  for (std::int64_t k = 0; k < window.size(); ++k) {
    SliceOperator slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
    slice.starts[1] = k;
    WHET_TRY(const ValueId part, site.add("channel", slice, {padded}));
    if (k == 0) {
      sum = part;
    } else {
      WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, part}));
    }
  }
  return sum;
}

/// Ones where a row's channel sums a column's.
Tensor band(std::int64_t channels, const Window& window, DType dtype) {
  Tensor matrix(dtype, {channels, channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = std::max<std::int64_t>(c - window.before, 0);
    const std::int64_t last = std::min(c + window.behind, channels - 1);
    for (std::int64_t k = first; k <= last; ++k) matrix.set(c * channels + k, 1);
  }
  return matrix;
}

/// The sums of `x` over the window around each channel.
Result<ValueId> window_sums(OnnxSite& site, ValueId x, const Window& window) {
  if (window.size() <= kMostSlices) return sum_of_slices(site, x, window);
  const Shape shape = site.type(x).shape;
  const std::int64_t channels = shape[1];
  if (window.before >= channels - 1) return site.add("sum", ReduceOperator{ReduceKind::sum, {1}, true}, {x});
  if (channels > kMostChannels) {
    return site.error("sums " + std::to_string(window.size()) + " of " + std::to_string(channels) +
                      " channels; more than " + std::to_string(kMostSlices) + " are supported of at most " +
                      std::to_string(kMostChannels));
  }
  const Shape rows = {shape[0], channels, num_elements(Shape(shape.begin() + 2, shape.end()))};
  const ValueId matrix = site.add_constant("band", band(channels, window, site.type(x).dtype));
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{rows}, {x}));
  WHET_TRY(const ValueId sums, site.add("sums", MatMulOperator{}, {matrix, flat}));
  return site.add("sum", ReshapeOperator{shape}, {sums});
}

}  // namespace

Status import_lrn(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("size"));
  WHET_TRY(const std::int64_t size, site.integer("size", 1));
  WHET_TRY(const double alpha, site.number("alpha", 0.0001));
  WHET_TRY(const double beta, site.number("beta", 0.75));
  WHET_TRY(const double bias, site.number("bias", 1));
  if (site.rank(0) < 2 || size < 1 || size > kMaxElements || !is_float(site.dtype(0))) {
    return site.error("sums " + std::to_string(size) + " channels of " + to_string(site.type(site.in(0))) +
                      "; expected floats, and 1 or more channels in the second dimension");
  }
  // Sums of many squares overflow in f16.
  const bool half = site.dtype(0) == DType::f16;
  WHET_TRY(const ValueId x, site.cast("wide", site.in(0), half ? DType::f32 : site.dtype(0)));
  const DType dtype = site.type(x).dtype;
  WHET_TRY(ValueId y, site.add("square", BinaryOperator{BinaryKind::mul}, {x, x}));
  WHET_TRY(y, window_sums(site, y, {(size - 1) / 2, size / 2}));
  const ValueId factor = site.add_scalar("alpha", dtype, alpha / static_cast<double>(size));
  WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, factor}));
  WHET_TRY(y, site.add("biased", BinaryOperator{BinaryKind::add}, {y, site.add_scalar("bias", dtype, bias)}));
  WHET_TRY(y, site.add("power", BinaryOperator{BinaryKind::pow}, {y, site.add_scalar("beta", dtype, beta)}));
  if (!half) return site.give(BinaryOperator{BinaryKind::div}, {x, y});
  WHET_TRY(y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, y}));
  return site.give(CastOperator{DType::f16}, {y});
}

}  // namespace whet
