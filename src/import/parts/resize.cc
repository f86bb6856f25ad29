#include "import/parts/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "import/counted.h"
#include "import/fold_shape.h"
#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"

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

/// The place in the input of place `i` of the result.
template <typename Real>
Result<Real> source(NodeSite& site, const ResizeOperator& op, std::size_t d, std::int64_t in, std::int64_t i) {
  const auto scale = static_cast<Real>(op.scales[d]), at = static_cast<Real>(i), out = static_cast<Real>(op.shape[d]);
  const auto length = static_cast<Real>(in), half = static_cast<Real>(0.5);
  switch (op.coordinates) {
    case CoordinateMode::half_pixel:
      return (at + half) / scale - half;
    case CoordinateMode::pytorch_half_pixel:
      return out == 1 ? 0 : (at + half) / scale - half;
    case CoordinateMode::half_pixel_symmetric:
      return length / 2 * (1 - out / (scale * length)) + (at + half) / scale - half;
    case CoordinateMode::tf_half_pixel_for_nn:
      return (at + half) / scale;
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
    WHET_TRY(const double at, source<double>(site, op, d, in, i));
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

// ---- Integers.

/// The two pixels around each place of dimension `d`, and what they count, in f32.
struct Beside {
  Tensor places[2], weights[2];
};
Result<Beside> pixels_beside(NodeSite& site, const ResizeOperator& op, std::size_t d, const Shape& x) {
  const std::int64_t out = op.shape[d], last = x[d] - 1;
  const Shape along = shape_along(d, x.size(), out);
  Beside two{{Tensor(DType::i64, {out}), Tensor(DType::i64, {out})},
             {Tensor(DType::f32, along), Tensor(DType::f32, along)}};
  for (std::int64_t i = 0; i < out; ++i) {
    WHET_TRY(float at, source<float>(site, op, d, x[d], i));
    at = std::clamp(at, 0.0F, static_cast<float>(last));
    const std::int64_t first = std::min(static_cast<std::int64_t>(at), last), second = std::min(first + 1, last);
    const auto distance_to = [&](std::int64_t k) { return std::abs(at - static_cast<float>(k)); };
    two.places[0].set_integer(i, first);
    two.places[1].set_integer(i, second);
    two.weights[0].set(i, first == second ? 0.5F : distance_to(second));
    two.weights[1].set(i, first == second ? 0.5F : distance_to(first));
  }
  return two;
}

/// The products of the pixels around, in ONNX Runtime's order, summed up in f32 and cut off. A product that is clipped is not fused
/// with the sum, which would round once where ONNX Runtime rounds twice.
Result<ValueId> linear_of_integers(NodeSite& site, ValueId image, const ResizeOperator& op) {
  constexpr double kBeyondIntegers = 0x1p33;
  const Shape x = site.shape(image);
  const DType dtype = site.dtype(image);
  struct Corner {
    ValueId pixel;
    std::optional<ValueId> weight;
  };
  WHET_TRY(image, site.cast("single", image, DType::f32));
  std::vector<Corner> corners = {{image, std::nullopt}};
  for (std::size_t d = x.size(); d-- > 0;) {
    if (op.shape[d] == x[d] && op.scales[d] == 1) continue;
    WHET_TRY(const Beside two, pixels_beside(site, op, d, x));
    std::vector<Corner> more;
    for (std::size_t k = 0; k < 2; ++k) {
      const ValueId places = site.add_constant("places", two.places[k]),
                    weights = site.add_constant("weights", two.weights[k]);
      for (const Corner& corner : corners) {
        Corner own{{}, weights};
        WHET_TRY(own.pixel, site.add("pixel", GatherOperator{static_cast<std::int64_t>(d)}, {corner.pixel, places}));
        if (corner.weight) {
          WHET_TRY(own.weight, site.add("weight", BinaryOperator{BinaryKind::mul}, {*corner.weight, weights}));
        }
        more.push_back(own);
      }
    }
    corners = std::move(more);
  }
  std::vector<ValueId> parts;
  for (const Corner& corner : corners) {
    ValueId part = corner.pixel;
    if (corner.weight) {
      WHET_TRY(part, site.add("part", BinaryOperator{BinaryKind::mul}, {part, *corner.weight}));
    }
    WHET_TRY(parts.emplace_back(), site.add("rounded", ClipOperator{-kBeyondIntegers, kBeyondIntegers}, {part}));
  }
  WHET_TRY(const ValueId y, chained(site, BinaryKind::add, parts));
  return site.cast("integers", y, dtype);
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

Result<ValueId> resized(NodeSite& site, ValueId image, const ResizeOperator& op, bool antialias) {
  const DType dtype = site.dtype(image);
  const bool between = op.mode != ResizeMode::nearest, smooth = antialias && between;
  if (is_float(dtype) || dtype == DType::boolean || !between)
    return smooth ? antialiased(site, image, op) : site.add("resized", op, {image});
  const bool fits = dtype != DType::i64 && op.coordinates != CoordinateMode::tf_crop_and_resize;
  if (op.mode == ResizeMode::linear && !smooth && fits) return linear_of_integers(site, image, op);
  WHET_TRY(image, site.cast("exact", image, DType::f64));
  WHET_TRY(ValueId y, smooth ? antialiased(site, image, op) : site.add("resized", op, {image}));
  if (smooth) {
    WHET_TRY(y, rounded_away(site, y));
  } else {  // a sum of weights that is 1 up to its rounding must not make 254 of 255
    WHET_TRY(ValueId slack, site.add("sign", UnaryOperator{UnaryKind::sign}, {y}));
    WHET_TRY(slack, with_number(site, "slack", BinaryKind::mul, slack, 0x1p-16));
    WHET_TRY(y, site.add("raised", BinaryOperator{BinaryKind::add}, {y, slack}));
  }
  WHET_TRY(y, site.add("kept", ClipOperator{extreme(dtype, true).get(0), extreme(dtype, false).get(0)}, {y}));
  return site.cast("integers", y, dtype);
}

}  // namespace whet
