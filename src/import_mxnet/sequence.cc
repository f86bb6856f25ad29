#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/grid_sample.h"
#include "import/parts/index.h"
#include "import/parts/move_axis.h"
#include "import/parts/shape.h"
#include "import_mxnet/rows.h"

// Sequences and attention, and images at computed places.

namespace whet::mxnet {
namespace {

using B = BinaryKind;

/// Queries, keys or values (`part` 0, 1, 2) of [steps, N, heads * 3 * size]: [N * heads, steps, size].
Result<ValueId> interleaved(NodeSite& site, ValueId x, std::int64_t heads, std::int64_t part) {
  const Shape shape = site.shape(x);
  if (shape.size() != 3 || heads < 1 || num_elements(shape) == 0 || heads > shape[2] || shape[2] % (3 * heads) != 0)
    return site.error("the input is " + to_string(site.type(x)) + " of " + std::to_string(heads) +
                      " heads; expected steps, a batch, and queries, keys and values of each head");
  const std::int64_t size = shape[2] / 3 / heads, lists = shape[1] * heads;
  WHET_TRY(ValueId y, site.add("heads", ReshapeOperator{{shape[0], lists, 3 * size}}, {x}));
  WHET_TRY(y, sliced(site, y, {part * size}, {(part + 1) * size}, Ints{2}, {1}));
  return site.add("by_head", TransposeOperator{{1, 0, 2}}, {y});
}

/// x divided by the root of its last extent.
Result<ValueId> import_div_sqrt_dim(NodeSite& site, ValueId x) {
  const Shape shape = site.shape(x);
  if (shape.empty() || shape.back() < 1) return site.error("the input is " + to_string(site.type(x)));
  return with_number(site, "quotient", B::div, x, std::sqrt(static_cast<double>(shape.back())));
}
/// Products of queries and keys, which are divided by the root of their size.
Status import_self_attention_scores(NodeSite& site, ValueId x, std::int64_t heads) {
  WHET_TRY(const ValueId queries, interleaved(site, x, heads, 0));
  WHET_TRY(const ValueId keys, interleaved(site, x, heads, 1));
  const double size = static_cast<double>(site.shape(queries)[2]);
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, queries, 1 / std::sqrt(size)));
  return site.give(MatMulOperator{.transpose_b = true}, {scaled, keys});
}
Status import_self_attention_values(NodeSite& site, ValueId all, ValueId weights, std::int64_t heads) {
  WHET_TRY(const ValueId values, interleaved(site, all, heads, 2));
  const Shape x = site.shape(all), v = site.shape(values), wanted = {v[0], v[1], v[1]};
  if (site.shape(weights) != wanted)
    return site.error("weighs values by " + to_string(site.type(weights)) + "; expected " + to_string(wanted));
  WHET_TRY(const ValueId product, site.add("product", MatMulOperator{}, {weights, values}));
  WHET_TRY(const ValueId turned, site.add("by_step", TransposeOperator{{1, 0, 2}}, {product}));
  return site.give(ReshapeOperator{{x[0], x[1], x[2] / 3}}, {turned});
}

/// The last step of each sequence of [steps, N, ...], or of [N, steps, ...] with axis 1.
Result<ValueId> import_sequence_last(NodeSite& site, ValueId x, std::optional<ValueId> lengths, bool by_lengths,
                                     std::int64_t given) {
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, 2));
  const Shape shape = site.shape(x);
  if (shape.size() < 2 || num_elements(shape) == 0) return site.error("the input is " + to_string(site.type(x)));
  const std::int64_t steps = shape[static_cast<std::size_t>(axis)], lists = shape[static_cast<std::size_t>(1 - axis)];
  if (!by_lengths) {
    WHET_TRY(const ValueId last, sliced(site, x, {steps - 1}, {steps}, Ints{axis}, {1}));
    return squeezed(site, last, Ints{axis});
  }
  if (!lengths || site.shape(*lengths) != Shape{lists})
    return site.error("has no list of " + std::to_string(lists) + " lengths");
  WHET_TRY(x, axis == 1 ? x : site.add("by_list", move_axis(shape.size(), 0, 1), {x}));
  WHET_TRY(ValueId place, site.cast("lengths", *lengths, DType::i64));
  WHET_TRY(place, with_number(site, "place", B::sub, place, 1));
  WHET_TRY(place, site.add("column", ReshapeOperator{{lists, 1}}, {place}));
  return site.add("last", GatherNdOperator{1}, {x, place});
}
Result<ValueId> import_sequence_reverse(NodeSite& site, ValueId x, std::optional<ValueId> lengths, bool by_lengths,
                                        std::int64_t axis) {
  if (axis != 0 || site.rank(x) < 2) return site.error("reverses axis " + std::to_string(axis) + "; expected 0");
  const std::int64_t steps = site.shape(x)[0];
  if (!by_lengths) return sliced(site, x, {steps - 1}, {-steps - 1}, Ints{0}, {-1});
  if (!lengths) return site.error("has no lengths");
  WHET_TRY(const ValueId counts, site.cast("lengths", *lengths, DType::i64));
  return reverse_sequence(site, x, counts, 0);
}

/// Numbers of the shape of x, or of one of its dimensions.
Status import_arange_like(NodeSite& site, ValueId x, double start, double step, std::int64_t repeat,
                          std::optional<std::int64_t> axis) {
  if (repeat != 1) return site.error("repeats its numbers, which is not supported");
  Shape shape = site.shape(x);
  if (axis) shape = {shape[static_cast<std::size_t>(*axis)]};
  WHET_RETURN_IF_ERROR(expect_small(site, shape, "the list of numbers"));
  return site.give_constant(numbered(shape, site.dtype(x), start, step));
}

/// The grid [N, rows, columns, 2] of matrices [N, 6].
Result<ValueId> grid_of(MxSite& site, ValueId matrices) {
  WHET_RETURN_IF_ERROR(site.choice("transform_type", "affine", {"affine"}));
  const Shape shape = site.shape(matrices);
  if (shape.size() != 2 || shape[1] != 6)
    return site.error("makes a grid of " + to_string(site.type(matrices)) + "; expected six numbers an image");
  WHET_TRY(const Ints size, site.entries("target_shape", 2, 0, 1));
  WHET_TRY(const ValueId turned, site.add("matrices", ReshapeOperator{{shape[0], 2, 3}}, {matrices}));
  return affine_grid(site, turned, {shape[0], 1, size[0], size[1]}, true);
}
const Sampling kBetweenCentres = {.outside = Outside::zeros, .align = true};

/// The grid as [N, 2, rows, columns].
Status import_grid_generator(MxSite& site, ValueId matrices) {
  WHET_TRY(const ValueId grid, grid_of(site, matrices));
  return site.give(TransposeOperator{{0, 3, 1, 2}}, {grid});
}
Result<ValueId> import_bilinear_sampler(NodeSite& site, ValueId x, ValueId given) {
  if (site.rank(given) != 4) return site.error("its grid is " + to_string(site.type(given)));
  WHET_TRY(const ValueId grid, site.add("grid", TransposeOperator{{0, 2, 3, 1}}, {given}));
  return grid_sampled(site, x, grid, kBetweenCentres);
}
Result<ValueId> import_spatial_transformer(MxSite& site, ValueId x, ValueId matrices) {
  WHET_TRY(const ValueId grid, grid_of(site, matrices));
  return grid_sampled(site, x, grid, kBetweenCentres);
}

}  // namespace

MxRows sequence_rows() {
  static constexpr std::string_view kSequence = "x lengths? @use_sequence_length=0 @axis=0";
  static constexpr MxRow kRows[] = {
      {"BilinearSampler", "x grid", calls<import_bilinear_sampler>},
      {"GridGenerator", "matrices @transform_type? @target_shape", calls<import_grid_generator>},
      {"SequenceLast", kSequence, calls<import_sequence_last>},
      {"SequenceReverse", kSequence, calls<import_sequence_reverse>},
      {"SpatialTransformer", "x matrices @transform_type? @target_shape", calls<import_spatial_transformer>},
      {"_contrib_arange_like", "x @start=0 @step=1 @repeat=1 @axis(x)?", calls<import_arange_like>},
      {"_contrib_div_sqrt_dim", "x", calls<import_div_sqrt_dim>},
      {"_contrib_interleaved_matmul_selfatt_qk", "x @heads=1", calls<import_self_attention_scores>},
      {"_contrib_interleaved_matmul_selfatt_valatt", "x weights @heads=1", calls<import_self_attention_values>},
  };
  return kRows;
}

}  // namespace whet::mxnet
