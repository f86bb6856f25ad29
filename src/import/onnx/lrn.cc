#include <algorithm>

#include "import/onnx/importers.h"

// LRN over many channels: a sum of as many slices, which import_lrn makes of a few, would take minutes to compile.

namespace whet {
namespace {

constexpr std::int64_t kMostSlices = 16, kMostChannels = 4096;

/// The channels that channel c sums: c - before .. c + behind.
struct Window {
  std::int64_t before, behind;
};

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
  const Shape shape = site.type(x).shape;
  const std::int64_t channels = shape[1];
  if (window.before >= channels - 1) return site.add("sum", ReduceOperator{ReduceKind::sum, {1}, true}, {x});
  if (channels > kMostChannels) {
    return site.error("sums " + std::to_string(window.before + 1 + window.behind) + " of " + std::to_string(channels) +
                      " channels; more than " + std::to_string(kMostSlices) + " are supported of at most " +
                      std::to_string(kMostChannels));
  }
  const Shape rows = {shape[0], channels, num_elements(Shape(shape.begin() + 2, shape.end()))};
  const ValueId matrix = site.add_constant("band", band(channels, window, site.type(x).dtype));
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{rows}, {x}));
  WHET_TRY(const ValueId sums, site.add("sums", MatMulOperator{}, {matrix, flat}));
  return site.add("sum", ReshapeOperator{shape}, {sums});
}

Result<ValueId> cast(OnnxSite& site, const char* part, ValueId x, DType dtype) {
  if (site.type(x).dtype == dtype) return x;
  return site.add(part, CastOperator{dtype}, {x});
}

}  // namespace

Status import_lrn_of_any_size(OnnxSite& site) {
  WHET_TRY(const std::int64_t size, site.integer("size", 1));
  if (size <= kMostSlices) return import_lrn(site);
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 0.0001));
  WHET_TRY(const double beta, site.number("beta", 0.75));
  WHET_TRY(const double bias, site.number("bias", 1));
  if (site.rank(0) < 2 || size > kMaxElements || !is_float(site.dtype(0))) {
    return site.error("sums " + std::to_string(size) + " channels of " + to_string(site.type(site.in(0))) +
                      "; expected floats, and channels in the second dimension");
  }
  // Sums of many squares overflow in f16.
  const DType dtype = site.dtype(0) == DType::f16 ? DType::f32 : site.dtype(0);
  WHET_TRY(const ValueId x, cast(site, "wide", site.in(0), dtype));
  WHET_TRY(ValueId y, site.add("square", BinaryOperator{BinaryKind::mul}, {x, x}));
  WHET_TRY(y, window_sums(site, y, {(size - 1) / 2, size / 2}));
  const ValueId factor = site.add_scalar("alpha", dtype, alpha / static_cast<double>(size));
  WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, factor}));
  WHET_TRY(y, site.add("biased", BinaryOperator{BinaryKind::add}, {y, site.add_scalar("bias", dtype, bias)}));
  WHET_TRY(y, site.add("power", BinaryOperator{BinaryKind::pow}, {y, site.add_scalar("beta", dtype, beta)}));
  if (dtype == site.dtype(0)) return site.give(BinaryOperator{BinaryKind::div}, {x, y});
  WHET_TRY(y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, y}));
  return site.give(CastOperator{site.dtype(0)}, {y});
}

}  // namespace whet
