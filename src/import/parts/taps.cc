#include "import/parts/taps.h"

#include <functional>

#include "import/parts/move_axis.h"

namespace whet {
namespace {

using U = UnaryKind;
using B = BinaryKind;

/// What the steps of one dimension have in common.
class Sampler {
 public:
  Sampler(NodeSite& site, Outside outside, bool align) : site_(site), outside_(outside), align_(align) {}

  Result<ValueId> unary(U kind, ValueId x) { return site_.add("step", UnaryOperator{kind}, {x}); }
  Result<ValueId> binary(B kind, ValueId a, ValueId b) { return site_.add("step", BinaryOperator{kind}, {a, b}); }
  Result<ValueId> binary(B kind, ValueId a, double b) { return binary(kind, a, scalar(b)); }
  ValueId scalar(double value) { return site_.add_scalar("number", DType::f32, value); }

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
  NodeSite& site_;
  Outside outside_;
  bool align_;
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

}  // namespace

Result<std::vector<Tap>> taps_of(NodeSite& site, const Sampling& sampling, ValueId x, double extent) {
  Sampler s(site, sampling.outside, sampling.align);
  const ResizeMode mode = sampling.mode;
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

Result<Pixels> channels_last_pixels(NodeSite& site, ValueId images) {
  const Shape x = site.type(images).shape;
  Pixels pixels{{}, Shape(x.begin() + 2, x.end())};
  WHET_TRY(pixels.rows, site.add("channels_last", move_axis(x.size(), 1, x.size() - 1), {images}));
  WHET_TRY(pixels.rows, site.add("pixels", ReshapeOperator{{x[0], num_elements(pixels.extents), x[1]}}, {pixels.rows}));
  return pixels;
}

Result<ValueId> sampled(NodeSite& site, const Pixels& pixels, const std::vector<std::vector<Tap>>& taps,
                        BinaryKind combine) {
  const std::int64_t images = site.type(pixels.rows).shape[0];
  const auto column = [&](const char* part, ValueId x) {
    const std::int64_t points = num_elements(site.type(x).shape) / images;
    return site.add(part, ReshapeOperator{{images, points, 1}}, {x});
  };
  ValueId sum;
  const std::function<Status(std::size_t, std::optional<ValueId>, std::optional<ValueId>)> visit =
      [&](std::size_t d, std::optional<ValueId> index, std::optional<ValueId> weight) -> Status {
    if (d == taps.size()) {
      WHET_TRY(const ValueId pixel, column("pixel", *index));
      WHET_TRY(ValueId part, site.add("gathered", GatherNdOperator{1}, {pixels.rows, pixel}));
      if (weight) {
        WHET_TRY(ValueId factor, column("weight", *weight));
        if (site.type(part).dtype != DType::f32) {
          WHET_TRY(factor, site.add("weight_cast", CastOperator{site.type(part).dtype}, {factor}));
        }
        WHET_TRY(part, site.add("weighted", BinaryOperator{B::mul}, {part, factor}));
      }
      if (sum.valid()) {
        WHET_TRY(sum, site.add("sum", BinaryOperator{combine}, {sum, part}));
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
        WHET_TRY(product, site.add("step", BinaryOperator{B::mul}, {*weight, *tap.weight}));
      }
      WHET_RETURN_IF_ERROR(visit(d + 1, at, product));
    }
    return ok_status();
  };
  WHET_RETURN_IF_ERROR(visit(0, std::nullopt, std::nullopt));
  return sum;
}

}  // namespace whet
