#include <cmath>

#include "import/mxnet/rows.h"
#include "import/parts/arithmetic.h"
#include "import/parts/grid_sample.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

// Sequences and attention, and images at computed places.

namespace whet::mxnet {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;

/// Queries, keys or values (`part` 0, 1, 2) of [steps, N, heads * 3 * size]: [N * heads, steps, size].
Result<ValueId> interleaved(MxSite& site, ValueId x, std::int64_t part) {
  const Shape shape = site.shape(x);
  WHET_TRY(const std::int64_t heads, site.integer("heads", 1));
  if (shape.size() != 3 || heads < 1 || num_elements(shape) == 0 || heads > shape[2] || shape[2] % (3 * heads) != 0)
    return site.error("the input is " + to_string(site.type(x)) + " of " + std::to_string(heads) +
                      " heads; expected steps, a batch, and queries, keys and values of each head");
  const std::int64_t size = shape[2] / 3 / heads, lists = shape[1] * heads;
  WHET_TRY(ValueId y, site.add("heads", ReshapeOperator{{shape[0], lists, 3 * size}}, {x}));
  WHET_TRY(y, sliced(site, y, {part * size}, {(part + 1) * size}, Ints{2}, {1}));
  return site.add("by_head", TransposeOperator{{1, 0, 2}}, {y});
}

/// Products of queries and keys, which are divided by the root of their size.
Status import_self_attention_scores(MxSite& site) {
  WHET_TRY(const ValueId queries, interleaved(site, site.in(0), 0));
  WHET_TRY(const ValueId keys, interleaved(site, site.in(0), 1));
  const double size = static_cast<double>(site.shape(queries)[2]);
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, queries, 1 / std::sqrt(size)));
  return site.give(MatMulOperator{.transpose_b = true}, {scaled, keys});
}
Status import_self_attention_values(MxSite& site) {
  WHET_TRY(const ValueId values, interleaved(site, site.in(0), 2));
  const Shape x = site.shape(site.in(0)), v = site.shape(values);
  if (site.shape(site.in(1)) != Shape{v[0], v[1], v[1]})
    return site.error("weighs values by " + to_string(site.type(site.in(1))) + "; expected " +
                      to_string(Shape{v[0], v[1], v[1]}));
  WHET_TRY(const ValueId product, site.add("product", MatMulOperator{}, {site.in(1), values}));
  WHET_TRY(const ValueId turned, site.add("by_step", TransposeOperator{{1, 0, 2}}, {product}));
  return site.give(ReshapeOperator{{x[0], x[1], x[2] / 3}}, {turned});
}
Status import_div_sqrt_dim(MxSite& site) {
  const Shape shape = site.shape(site.in(0));
  if (shape.empty() || shape.back() < 1) return site.error("the input is " + to_string(site.type(site.in(0))));
  const double root = std::sqrt(static_cast<double>(shape.back()));
  return site.give(with_number(site, "quotient", B::div, site.in(0), root));
}

/// The last step of each sequence of [steps, N, ...], or of [N, steps, ...] with axis 1.
Status import_sequence_last(MxSite& site) {
  WHET_TRY(const bool by_lengths, site.flag("use_sequence_length", false));
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, 2));
  const Shape shape = site.shape(x);
  if (shape.size() < 2 || num_elements(shape) == 0) return site.error("the input is " + to_string(site.type(x)));
  const std::int64_t steps = shape[static_cast<std::size_t>(axis)], lists = shape[static_cast<std::size_t>(1 - axis)];
  if (!by_lengths) {
    WHET_TRY(const ValueId last, sliced(site, x, {steps - 1}, {steps}, Ints{axis}, {1}));
    return site.give(squeezed(site, last, Ints{axis}));
  }
  if (site.input_count() != 2 || site.shape(site.in(1)) != Shape{lists})
    return site.error("has no list of " + std::to_string(lists) + " lengths");
  ValueId rows = x;
  if (axis == 0) {
    TransposeOperator turn{every_axis(shape.size())};
    std::swap(turn.perm[0], turn.perm[1]);
    WHET_TRY(rows, site.add("by_list", turn, {x}));
  }
  WHET_TRY(ValueId place, site.cast("lengths", site.in(1), DType::i64));
  WHET_TRY(place, with_number(site, "place", B::sub, place, 1));
  WHET_TRY(place, site.add("column", ReshapeOperator{{lists, 1}}, {place}));
  return site.give(GatherNdOperator{1}, {rows, place});
}
Status import_sequence_reverse(MxSite& site) {
  WHET_TRY(const bool by_lengths, site.flag("use_sequence_length", false));
  WHET_TRY(const std::int64_t axis, site.integer("axis", 0));
  const ValueId x = site.in(0);
  if (axis != 0 || site.rank(x) < 2) return site.error("reverses axis " + std::to_string(axis) + "; expected 0");
  if (!by_lengths) {
    const std::int64_t steps = site.shape(x)[0];
    return site.give(sliced(site, x, {steps - 1}, {-steps - 1}, Ints{0}, {-1}));
  }
  if (site.input_count() != 2) return site.error("has no lengths");
  WHET_TRY(const ValueId lengths, site.cast("lengths", site.in(1), DType::i64));
  return site.give(reverse_sequence(site, x, lengths, 0));
}

/// Numbers of the shape of x, or of one of its dimensions.
Status import_arange_like(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const double start, site.number("start", 0));
  WHET_TRY(const double step, site.number("step", 1));
  WHET_TRY(const std::int64_t repeat, site.integer("repeat", 1));
  if (repeat != 1) return site.error("repeats its numbers, which is not supported");
  Shape shape = site.shape(x);
  if (site.has("axis")) {
    WHET_TRY(const std::int64_t axis, site.axis("axis", 0, shape.size()));
    shape = {shape[static_cast<std::size_t>(axis)]};
  }
  WHET_RETURN_IF_ERROR(expect_small(site, shape, "the list of numbers"));
  Tensor numbers(site.dtype(x), shape);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, start + step * static_cast<double>(i));
  return site.give_constant(numbers);
}

Result<Shape> read_target(MxSite& site, std::int64_t images) {
  WHET_TRY(const Ints size, site.entries("target_shape", 2, 0, 1));
  return Shape{images, 1, size[0], size[1]};
}
/// The grid [N, rows, columns, 2] of matrices [N, 6].
Result<ValueId> grid_of(MxSite& site, ValueId matrices) {
  const Shape shape = site.shape(matrices);
  if (site.text("transform_type", "affine") != "affine" || shape.size() != 2 || shape[1] != 6)
    return site.error("makes a grid of " + to_string(site.type(matrices)) + " by transform_type " +
                      site.text("transform_type", "affine") + "; expected affine and six numbers an image");
  WHET_TRY(const Shape size, read_target(site, shape[0]));
  WHET_TRY(const ValueId turned, site.add("matrices", ReshapeOperator{{shape[0], 2, 3}}, {matrices}));
  return affine_grid(site, turned, size, true);
}
const Sampling kBetweenCentres = {.outside = Outside::zeros, .align = true};

/// The grid as [N, 2, rows, columns].
Status import_grid_generator(MxSite& site) {
  WHET_TRY(const ValueId grid, grid_of(site, site.in(0)));
  return site.give(TransposeOperator{{0, 3, 1, 2}}, {grid});
}
Status import_bilinear_sampler(MxSite& site) {
  if (site.rank(site.in(1)) != 4) return site.error("its grid is " + to_string(site.type(site.in(1))));
  WHET_TRY(const ValueId grid, site.add("grid", TransposeOperator{{0, 2, 3, 1}}, {site.in(1)}));
  return site.give(grid_sampled(site, site.in(0), grid, kBetweenCentres));
}
Status import_spatial_transformer(MxSite& site) {
  WHET_TRY(const ValueId grid, grid_of(site, site.in(1)));
  return site.give(grid_sampled(site, site.in(0), grid, kBetweenCentres));
}

}  // namespace

MxRows sequence_rows() {
  static constexpr MxRow kRows[] = {
      {"BilinearSampler", 2, import_bilinear_sampler},
      {"GridGenerator", 1, import_grid_generator},
      {"SequenceLast", {1, 2}, import_sequence_last},
      {"SequenceReverse", {1, 2}, import_sequence_reverse},
      {"SpatialTransformer", 2, import_spatial_transformer},
      {"_contrib_arange_like", 1, import_arange_like},
      {"_contrib_div_sqrt_dim", 1, import_div_sqrt_dim},
      {"_contrib_interleaved_matmul_selfatt_qk", 1, import_self_attention_scores},
      {"_contrib_interleaved_matmul_selfatt_valatt", 2, import_self_attention_values},
  };
  return kRows;
}

}  // namespace whet::mxnet
