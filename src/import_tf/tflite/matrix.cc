#include <algorithm>

#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import_tf/tflite/rows.h"

namespace whet::tflite {
namespace {

using B = BinaryKind;

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;

/// Where row and column are equal.
Tensor diagonal_mask(std::int64_t rows, std::int64_t columns) {
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.set_integer(i, i / columns == i % columns ? 1 : 0);
  return mask;
}

/// Entry `d` of a list of starts, kept so that `part` elements fit into `extent`.
Result<ValueId> kept_start(NodeSite& site, ValueId starts, std::int64_t d, std::int64_t extent, std::int64_t part) {
  WHET_TRY(ValueId start, sliced(site, starts, {d}, {d + 1}, std::nullopt, {1}));
  WHET_TRY(start, site.cast("start", start, DType::i64));
  return site.add("kept_start", ClipOperator{0, static_cast<double>(extent - part)}, {start});
}

/// (x, part, starts): x with the part in it, as far behind the starts as it fits.
Result<ValueId> updated_slice(NodeSite& site, ValueId x, ValueId part, ValueId starts) {
  const Shape whole = site.shape(x), extents = site.shape(part);
  const auto rank = static_cast<std::int64_t>(whole.size());
  const DType places = site.dtype(starts);
  bool fits = extents.size() == whole.size() && site.shape(starts) == Shape{rank} &&
              (places == DType::i32 || places == DType::i64) && num_elements(extents) > 0;
  for (std::size_t d = 0; fits && d < whole.size(); ++d) fits = extents[d] <= whole[d] && whole[d] <= kMostNumbers;
  if (!fits)
    return site.error("puts " + to_string(site.type(part)) + " into " + to_string(site.type(x)) + " from " +
                      to_string(site.type(starts)) + " on");
  std::optional<ValueId> inside;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (extents[d] == whole[d]) continue;
    const auto axis = static_cast<std::int64_t>(d);
    WHET_TRY(const ValueId start, kept_start(site, starts, axis, whole[d], extents[d]));
    const ValueId numbers = site.add_constant("numbers", numbered({whole[d]}));
    WHET_TRY(const ValueId distance, site.add("distance", BinaryOperator{B::sub}, {numbers, start}));
    WHET_TRY(const ValueId place, site.add("place", ClipOperator{0, static_cast<double>(extents[d] - 1)}, {distance}));
    WHET_TRY(part, site.add("spread", GatherOperator{axis}, {part, place}));
    WHET_TRY(ValueId within, site.add("within", BinaryOperator{B::equal}, {distance, place}));
    const Shape along = shape_along(d, whole.size(), whole[d]);
    WHET_TRY(within, site.add("within_axis", ReshapeOperator{along}, {within}));
    if (inside) {
      WHET_TRY(within, site.add("inside", BinaryOperator{B::logical_and}, {*inside, within}));
    }
    inside = within;
  }
  return inside ? site.add("updated", WhereOperator{}, {*inside, part, x}) : Result<ValueId>(part);
}

/// Vectors [..., n] as matrices [..., n, n] that are zero beside the diagonal.
Result<ValueId> matrix_diag(NodeSite& site, ValueId x) {
  if (site.rank(x) == 0 || site.shape(x).back() * site.shape(x).back() > kMostNumbers)
    return site.error("makes matrices of " + to_string(site.type(x)));
  const std::int64_t n = site.shape(x).back();
  const ValueId mask = site.add_constant("diagonal", diagonal_mask(n, n));
  WHET_TRY(const ValueId column, unsqueezed(site, x, {-1}));
  const ValueId zero = site.add_scalar("zero", site.dtype(x), 0);
  return site.add("matrices", WhereOperator{}, {mask, column, zero});
}
/// (matrices [..., m, n], diagonals [..., the smaller of both])
Result<ValueId> matrix_set_diag(NodeSite& site, ValueId x, ValueId diagonal) {
  const Shape matrices = site.shape(x);
  const std::size_t rank = matrices.size();
  Shape expected;
  if (rank >= 2) {
    expected.assign(matrices.begin(), matrices.end() - 2);
    expected.push_back(std::min(matrices[rank - 1], matrices[rank - 2]));
  }
  if (rank < 2 || site.shape(diagonal) != expected || matrices[rank - 1] * matrices[rank - 2] > kMostNumbers)
    return site.error("puts diagonals " + to_string(site.type(diagonal)) + " into " + to_string(site.type(x)));
  const ValueId mask = site.add_constant("diagonal", diagonal_mask(matrices[rank - 2], matrices[rank - 1]));
  const bool is_wide = matrices[rank - 1] > matrices[rank - 2];  // the diagonal has an entry for each row
  WHET_TRY(diagonal, unsqueezed(site, diagonal, {is_wide ? -1 : -2}));
  return site.add("matrices", WhereOperator{}, {mask, diagonal, x});
}

/// The shape to which two shapes broadcast.
Status broadcast_args(NodeSite& site, const Ints& a, const Ints& b, DType dtype) {
  const auto both = broadcast(a, b);
  if (!both) return site.error("has shapes that do not broadcast, " + to_string(a) + " and " + to_string(b));
  return site.give_constant(Tensor::of(dtype, {static_cast<std::int64_t>(both->size())}, *both));
}

}  // namespace

TfliteRows matrix_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BROADCAST_ARGS", as_plain, "first_shape second_shape @type", calls<broadcast_args>, "type=type#0"},
      {"DYNAMIC_UPDATE_SLICE", as_real, "x part starts", calls<updated_slice>},
      {"MATRIX_DIAG", as_real, "x", calls<matrix_diag>},
      {"MATRIX_SET_DIAG", as_real, "x diagonal", calls<matrix_set_diag>},
  };
  return kRows;
}

}  // namespace whet::tflite
