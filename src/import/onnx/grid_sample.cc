#include <functional>
#include <numeric>

#include "import/onnx/importers.h"

// GridSample: the images stand channels last, each point of the grid gathers the pixels around it, and they are added
// by their weights.

namespace whet {
namespace {

using U = UnaryKind;
using B = BinaryKind;
enum class Outside : std::uint8_t { zeros, border, reflection };

/// What the steps have in common. Numbers of the grid are f32.
class Sampler {
 public:
  Sampler(OnnxSite& site, Outside outside, bool align) : site_(site), outside_(outside), align_(align) {}

  Result<ValueId> unary(U kind, ValueId x) { return site_.add("step", UnaryOperator{kind}, {x}); }
  Result<ValueId> binary(B kind, ValueId a, ValueId b) { return site_.add("step", BinaryOperator{kind}, {a, b}); }
  Result<ValueId> binary(B kind, ValueId a, double b) { return binary(kind, a, scalar(b)); }
  ValueId scalar(double value) { return site_.add_scalar("number", DType::f32, value); }

  /// -1 .. 1 to the places 0 .. extent-1: the centres of the outer pixels, or their outer edges.
  Result<ValueId> place(ValueId x, double extent) {
    WHET_TRY(const ValueId from_0, binary(B::add, x, 1));
    if (align_) return binary(B::mul, from_0, (extent - 1) / 2);
    WHET_TRY(const ValueId scaled, binary(B::mul, from_0, extent / 2));
    return binary(B::sub, scaled, 0.5);
  }

  /// A pixel's place (a whole number) brought inside.
  Result<ValueId> inside(ValueId at, double extent) {
    if (outside_ == Outside::reflection && extent > 1) {
      const double period = align_ ? 2 * (extent - 1) : 2 * extent;
      WHET_TRY(ValueId rounds, binary(B::mul, at, 1 / period));
      WHET_TRY(rounds, unary(U::floor, rounds));
      WHET_TRY(rounds, binary(B::mul, rounds, period));
      WHET_TRY(at, binary(B::sub, at, rounds));  // 0 .. period
      WHET_TRY(const ValueId back, binary(B::sub, scalar(align_ ? period : period - 1), at));
      WHET_TRY(at, binary(B::min, at, back));
    }
    return site_.add("inside", ClipOperator{0, extent - 1}, {at});
  }

  /// 1 where the place is a pixel, else 0; without a value where pixels outside count too.
  Result<std::optional<ValueId>> counts(ValueId at, ValueId inside) {
    if (outside_ != Outside::zeros) return std::optional<ValueId>();
    WHET_TRY(const ValueId same, binary(B::equal, at, inside));
    WHET_TRY(const ValueId number, site_.add("counts", CastOperator{DType::f32}, {same}));
    return std::optional(number);
  }

 private:
  OnnxSite& site_;
  Outside outside_;
  bool align_;
};

/// One of the pixels of a dimension that a point takes: its place, and its weight (none: 1).
struct Tap {
  ValueId index;
  std::optional<ValueId> weight;
};

/// The weights of cubic convolution (a = -0.75) of the four pixels around a point, `t` behind the second.
Result<std::vector<ValueId>> cubic_weights(Sampler& s, ValueId t) {
  constexpr double a = -0.75;
  const auto polynomial = [&](ValueId x, double c3, double c2, double c1, double c0) -> Result<ValueId> {
    WHET_TRY(ValueId y, s.binary(B::mul, x, c3));
    WHET_TRY(y, s.binary(B::add, y, c2));
    WHET_TRY(y, s.binary(B::mul, y, x));
    WHET_TRY(y, s.binary(B::add, y, c1));
    WHET_TRY(y, s.binary(B::mul, y, x));
    return s.binary(B::add, y, c0);
  };
  WHET_TRY(const ValueId before, s.binary(B::add, t, 1));
  WHET_TRY(const ValueId rest, s.binary(B::sub, s.scalar(1), t));
  WHET_TRY(const ValueId behind, s.binary(B::add, rest, 1));
  std::vector<ValueId> weights;
  for (const auto& [x, near] : {std::pair(before, false), {t, true}, {rest, true}, {behind, false}}) {
    WHET_TRY(const ValueId weight,
             near ? polynomial(x, a + 2, -(a + 3), 0, 1) : polynomial(x, a, -5 * a, 8 * a, -4 * a));
    weights.push_back(weight);
  }
  return weights;
}

/// The taps of one dimension at the places `x`.
Result<std::vector<Tap>> taps_of(OnnxSite& site, Sampler& s, ResizeMode mode, ValueId x, double extent) {
  std::vector<std::pair<double, std::optional<ValueId>>> places;  // steps from the base, and weights
  ValueId base;
  if (mode == ResizeMode::nearest) {
    WHET_TRY(base, s.unary(U::round, x));
    places.emplace_back(0, std::nullopt);
  } else {
    WHET_TRY(base, s.unary(U::floor, x));
    WHET_TRY(const ValueId part, s.binary(B::sub, x, base));
    if (mode == ResizeMode::linear) {
      WHET_TRY(const ValueId rest, s.binary(B::sub, s.scalar(1), part));
      places = {{0, rest}, {1, part}};
    } else {
      WHET_TRY(const std::vector<ValueId> weights, cubic_weights(s, part));
      for (std::size_t k = 0; k < weights.size(); ++k) places.emplace_back(static_cast<double>(k) - 1, weights[k]);
    }
  }
  std::vector<Tap> taps;
  for (const auto& [step, weight] : places) {
    WHET_TRY(const ValueId at, s.binary(B::add, base, step));
    WHET_TRY(const ValueId inside, s.inside(at, extent));
    WHET_TRY(std::optional<ValueId> factor, s.counts(at, inside));
    if (!factor) {
      factor = weight;
    } else if (weight) {
      WHET_TRY(factor, s.binary(B::mul, *factor, *weight));
    }
    WHET_TRY(const ValueId index, site.add("index", CastOperator{DType::i32}, {inside}));
    taps.push_back({index, factor});
  }
  return taps;
}

/// The numbers 0 .. rank-1 with `from` moved to `to`.
TransposeOperator moved(std::size_t rank, std::size_t from, std::size_t to) {
  TransposeOperator op;
  op.perm.resize(rank);
  std::iota(op.perm.begin(), op.perm.end(), 0);
  op.perm.erase(op.perm.begin() + static_cast<std::ptrdiff_t>(from));
  op.perm.insert(op.perm.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return op;
}

/// The images as rows of pixels, [N, pixels, C], and the grid's points.
struct Pixels {
  ValueId rows;
  Shape extents;        ///< of the images
  std::int64_t points;  ///< of one image's grid
};

/// All taps of all dimensions from `d` on: pixels times weights, added.
Result<ValueId> sum_of_taps(OnnxSite& site, Sampler& s, const Pixels& pixels,
                            const std::vector<std::vector<Tap>>& taps) {
  ValueId sum;
  const std::function<Status(std::size_t, std::optional<ValueId>, std::optional<ValueId>)> visit =
      [&](std::size_t d, std::optional<ValueId> index, std::optional<ValueId> weight) -> Status {
    if (d == taps.size()) {
      const std::int64_t images = site.type(*index).shape[0];
      WHET_TRY(const ValueId column, site.add("pixel", ReshapeOperator{{images, pixels.points, 1}}, {*index}));
      WHET_TRY(ValueId part, site.add("gathered", GatherNdOperator{1}, {pixels.rows, column}));
      if (weight) {
        WHET_TRY(ValueId factor, site.add("weight", ReshapeOperator{{images, pixels.points, 1}}, {*weight}));
        if (site.type(part).dtype != DType::f32) {
          WHET_TRY(factor, site.add("weight_cast", CastOperator{site.type(part).dtype}, {factor}));
        }
        WHET_TRY(part, site.add("weighted", BinaryOperator{B::mul}, {part, factor}));
      }
      if (sum.valid()) {
        WHET_TRY(sum, site.add("sum", BinaryOperator{B::add}, {sum, part}));
      } else {
        sum = part;
      }
      return ok_status();
    }
    for (const Tap& tap : taps[d]) {
      ValueId at = tap.index;
      if (index) {
        const ValueId extent = site.add_scalar("extent", DType::i32, static_cast<double>(pixels.extents[d]));
        WHET_TRY(const ValueId row, site.add("row", BinaryOperator{B::mul}, {*index, extent}));
        WHET_TRY(at, site.add("place", BinaryOperator{B::add}, {row, at}));
      }
      std::optional<ValueId> product = tap.weight ? tap.weight : weight;
      if (tap.weight && weight) {
        WHET_TRY(product, s.binary(B::mul, *weight, *tap.weight));
      }
      WHET_RETURN_IF_ERROR(visit(d + 1, at, product));
    }
    return ok_status();
  };
  WHET_RETURN_IF_ERROR(visit(0, std::nullopt, std::nullopt));
  return sum;
}

Result<ResizeMode> read_mode(OnnxSite& site) {
  if (site.opset() >= 20) {
    WHET_TRY(const std::size_t mode, site.choice("mode", "linear", {"nearest", "linear", "cubic"}));
    return static_cast<ResizeMode>(mode);
  }
  WHET_TRY(const std::size_t mode, site.choice("mode", "bilinear", {"nearest", "bilinear", "bicubic"}));
  return static_cast<ResizeMode>(mode);
}

}  // namespace

Status import_grid_sample(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ResizeMode mode, read_mode(site));
  WHET_TRY(const std::size_t outside, site.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  WHET_TRY(const bool align, site.flag("align_corners", false));
  const Shape x = site.shape(0), grid = site.shape(1);
  const std::size_t rank = x.size(), spatial = rank - std::min<std::size_t>(rank, 2);
  const bool fits = rank >= 3 && rank <= 5 && grid.size() == rank && grid[0] == x[0] &&
                    grid.back() == static_cast<std::int64_t>(spatial) && is_float(site.dtype(0)) &&
                    is_float(site.dtype(1)) && num_elements(x) > 0 && num_elements(grid) > 0;
  if (!fits) {
    return site.error("samples " + to_string(site.type(site.in(0))) + " at " + to_string(site.type(site.in(1))) +
                      "; expected images [N, C, ...] and a grid [N, ..., " + std::to_string(spatial) + "]");
  }
  Shape points(grid.begin() + 1, grid.end() - 1);
  Pixels pixels{{}, Shape(x.begin() + 2, x.end()), num_elements(points)};
  WHET_TRY(pixels.rows, site.add("channels_last", moved(rank, 1, rank - 1), {site.in(0)}));
  WHET_TRY(pixels.rows, site.add("pixels", ReshapeOperator{{x[0], num_elements(pixels.extents), x[1]}}, {pixels.rows}));
  ValueId at = site.in(1);
  if (site.dtype(1) != DType::f32) {
    WHET_TRY(at, site.add("grid", CastOperator{DType::f32}, {at}));
  }
  Sampler sampler(site, static_cast<Outside>(outside), align);
  std::vector<std::vector<Tap>> taps;
  for (std::size_t d = 0; d < spatial; ++d) {
    SliceOperator column{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1), grid};
    column.starts.back() = static_cast<std::int64_t>(spatial - 1 - d);  // the last dimension's stands first
    column.shape.back() = 1;
    const double extent = static_cast<double>(pixels.extents[d]);
    WHET_TRY(ValueId place, site.add("column", column, {at}));
    WHET_TRY(place, site.add("places", ReshapeOperator{{x[0], pixels.points}}, {place}));
    WHET_TRY(place, sampler.place(place, extent));
    WHET_TRY(std::vector<Tap> of_dimension, taps_of(site, sampler, mode, place, extent));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(const ValueId sum, sum_of_taps(site, sampler, pixels, taps));
  Shape last = {x[0]};
  last.insert(last.end(), points.begin(), points.end());
  last.push_back(x[1]);
  WHET_TRY(const ValueId y, site.add("images", ReshapeOperator{last}, {sum}));
  return site.give(moved(rank, rank - 1, 1), {y});
}

}  // namespace whet
