#include "import/parts/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "import/fold_shape.h"

namespace whet {
namespace {

// ---- Antialiasing: where the image shrinks, the kernel widens by as much. The weights of all positions of a
// dimension are a matrix, which multiplies it.

double filter(const ResizeOperator& op, double t) {
  t = std::abs(t);
  if (op.mode == ResizeMode::linear) return std::max(1 - t, 0.0);
  const double a = op.cubic_a;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

Result<double> source(NodeSite& site, const ResizeOperator& op, std::size_t d, std::int64_t in, std::int64_t i) {
  const double scale = op.scales[d], at = static_cast<double>(i), out = static_cast<double>(op.shape[d]);
  const double length = static_cast<double>(in);
  switch (op.coordinates) {
    case CoordinateMode::half_pixel:
      return (at + 0.5) / scale - 0.5;
    case CoordinateMode::pytorch_half_pixel:
      return out == 1 ? 0 : (at + 0.5) / scale - 0.5;
    case CoordinateMode::half_pixel_symmetric:
      return length / 2 * (1 - out / (scale * length)) + (at + 0.5) / scale - 0.5;
    case CoordinateMode::asymmetric:
      return at / scale;
    case CoordinateMode::align_corners:
      return out == 1 ? 0 : at * (length - 1) / (out - 1);
    default:
      return site.error("antialiasing is not supported with this transformation of coordinates");
  }
}

/// [in, out]: what each element of the input adds to each of the result.
Result<Tensor> antialias_matrix(NodeSite& site, DType dtype, const ResizeOperator& op, std::size_t d, std::int64_t in) {
  const std::int64_t out = op.shape[d];
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the weights", {in, out}));
  if (in * out > kMaxFoldedElements) return site.error("resizes " + std::to_string(in) + " to " + std::to_string(out));
  Tensor matrix(dtype, {in, out});
  const double widen = std::max(1 / op.scales[d], 1.0), reach = (op.mode == ResizeMode::linear ? 1 : 2) * widen;
  for (std::int64_t i = 0; i < out; ++i) {
    WHET_TRY(const double at, source(site, op, d, in, i));
    const auto first = static_cast<std::int64_t>(std::floor(at - reach)),
               last = static_cast<std::int64_t>(std::ceil(at + reach));
    double total = 0;
    std::vector<double> weights(static_cast<std::size_t>(in), 0);
    for (std::int64_t k = first; k <= last; ++k) {
      if (op.exclude_outside && (k < 0 || k >= in)) continue;
      const double weight = filter(op, (static_cast<double>(k) - at) / widen);
      total += weight;
      weights[static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, in - 1))] += weight;
    }
    for (std::int64_t k = 0; k < in; ++k) {
      matrix.set(k * out + i, total == 0 ? 0 : weights[static_cast<std::size_t>(k)] / total);
    }
  }
  return matrix;
}

}  // namespace

Status scale_by(NodeSite& site, ValueId image, const std::vector<double>& factors, ResizeOperator& op) {
  const Shape& x = site.shape(image);
  if (factors.size() != x.size()) {
    return site.error("has " + std::to_string(factors.size()) + " scales for " + to_string(site.type(image)));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    // In single precision, so that 3 times the nearest number to 5/3 is 5.
    const double extent = std::floor(static_cast<float>(x[i]) * static_cast<float>(factors[i]));
    if (!(factors[i] > 0) || !(extent >= 1) || extent > static_cast<double>(kMaxElements)) {
      return site.error("scales dimension " + std::to_string(i) + " of extent " + std::to_string(x[i]) + " by " +
                        std::to_string(factors[i]));
    }
    op.shape.push_back(static_cast<std::int64_t>(extent));
  }
  op.scales = factors;
  return ok_status();
}

Status scale_to(NodeSite& site, ValueId image, const std::vector<std::int64_t>& sizes, ResizeOperator& op) {
  const Shape& x = site.shape(image);
  if (sizes.size() != x.size()) {
    return site.error("has " + std::to_string(sizes.size()) + " sizes for " + to_string(site.type(image)));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (sizes[i] < 1 || x[i] < 1) {
      return site.error("resizes dimension " + std::to_string(i) + " from " + std::to_string(x[i]) + " to " +
                        std::to_string(sizes[i]));
    }
    op.scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(x[i]));
  }
  op.shape = sizes;
  return ok_status();
}

Result<ValueId> antialiased(NodeSite& site, ValueId y, const ResizeOperator& op) {
  const Shape x = site.shape(y);
  const DType dtype = site.dtype(y);
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (op.shape[d] == x[d] && op.scales[d] == 1) continue;
    WHET_TRY(const Tensor matrix, antialias_matrix(site, dtype, op, d, x[d]));
    const ValueId weights = site.add_constant("weights", matrix);
    TransposeOperator turn;
    for (std::size_t k = 0; k < x.size(); ++k) turn.perm.push_back(static_cast<std::int64_t>(k));
    std::swap(turn.perm[d], turn.perm.back());
    WHET_TRY(y, site.add("turned", turn, {y}));
    WHET_TRY(y, site.add("resized", MatMulOperator{}, {y, weights}));
    WHET_TRY(y, site.add("back", turn, {y}));
  }
  return y;
}

}  // namespace whet
