#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/parts/quantize.h"
#include "import/parts/shape.h"
#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;

/// Where row and column are equal.
Tensor diagonal_mask(std::int64_t rows, std::int64_t columns) {
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.set_integer(i, i / columns == i % columns ? 1 : 0);
  return mask;
}

/// Entry `d` of a list of starts, kept so that `part` elements fit into `extent`.
Result<ValueId> kept_start(TfliteSite& site, ValueId starts, std::int64_t d, std::int64_t extent, std::int64_t part) {
  WHET_TRY(ValueId start, sliced(site, starts, {d}, {d + 1}, std::nullopt, {1}));
  WHET_TRY(start, site.cast("start", start, DType::i64));
  return site.add("kept_start", ClipOperator{0, static_cast<double>(extent - part)}, {start});
}

/// (x, part, starts): x with the part in it, as far behind the starts as it fits.
Status import_dynamic_update_slice(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(ValueId part, site.real(1));
  const Shape whole = site.shape(x), extents = site.shape(part);
  const auto rank = static_cast<std::int64_t>(whole.size());
  const DType places = site.dtype(site.in(2));
  bool fits = extents.size() == whole.size() && site.shape(site.in(2)) == Shape{rank} &&
              (places == DType::i32 || places == DType::i64) && num_elements(extents) > 0;
  for (std::size_t d = 0; fits && d < whole.size(); ++d) fits = extents[d] <= whole[d] && whole[d] <= kMostNumbers;
  if (!fits)
    return site.error("puts " + to_string(site.type(part)) + " into " + to_string(site.type(x)) + " from " +
                      to_string(site.type(site.in(2))) + " on");
  std::optional<ValueId> inside;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (extents[d] == whole[d]) continue;
    const auto axis = static_cast<std::int64_t>(d);
    WHET_TRY(const ValueId start, kept_start(site, site.in(2), axis, whole[d], extents[d]));
    Ints count;
    for (std::int64_t i = 0; i < whole[d]; ++i) count.push_back(i);
    const ValueId numbers = site.add_constant("numbers", Tensor::of(DType::i64, {whole[d]}, count));
    WHET_TRY(const ValueId distance, site.add("distance", BinaryOperator{B::sub}, {numbers, start}));
    WHET_TRY(const ValueId place, site.add("place", ClipOperator{0, static_cast<double>(extents[d] - 1)}, {distance}));
    WHET_TRY(part, site.add("spread", GatherOperator{axis}, {part, place}));
    WHET_TRY(ValueId within, site.add("within", BinaryOperator{B::equal}, {distance, place}));
    Shape along(whole.size(), 1);
    along[d] = whole[d];
    WHET_TRY(within, site.add("within_axis", ReshapeOperator{along}, {within}));
    if (inside) {
      WHET_TRY(within, site.add("inside", BinaryOperator{B::logical_and}, {*inside, within}));
    }
    inside = within;
  }
  if (!inside) return site.give_real(part);
  return site.give_real(site.add("updated", WhereOperator{}, {*inside, part, x}));
}

/// Vectors [..., n] as matrices [..., n, n] that are zero beside the diagonal.
Status import_matrix_diag(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  if (site.rank(x) == 0 || site.shape(x).back() * site.shape(x).back() > kMostNumbers)
    return site.error("makes matrices of " + to_string(site.type(x)));
  const std::int64_t n = site.shape(x).back();
  const ValueId mask = site.add_constant("diagonal", diagonal_mask(n, n));
  WHET_TRY(const ValueId column, unsqueezed(site, x, {-1}));
  const ValueId zero = site.add_scalar("zero", site.dtype(x), 0);
  return site.give_real(site.add("matrices", WhereOperator{}, {mask, column, zero}));
}
/// (matrices [..., m, n], diagonals [..., the smaller of both])
Status import_matrix_set_diag(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(ValueId diagonal, site.real(1));
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
  return site.give_real(site.add("matrices", WhereOperator{}, {mask, diagonal, x}));
}

/// The shape to which two shapes broadcast.
Status import_broadcast_args(TfliteSite& site) {
  WHET_TRY(const Ints a, site.integers(0, "first shape"));
  WHET_TRY(const Ints b, site.integers(1, "second shape"));
  const auto both = broadcast(a, b);
  if (!both) return site.error("has shapes that do not broadcast, " + to_string(a) + " and " + to_string(b));
  const DType dtype = site.result_info().type == 4 ? DType::i64 : DType::i32;
  return site.give_constant(Tensor::of(dtype, {static_cast<std::int64_t>(both->size())}, *both));
}

Status import_fake_quant(TfliteSite& site) {
  const FlatTable& o = site.options();
  const std::int64_t bits = o.number<std::int32_t>(2);
  const FakeQuantization form = bits < 2 || bits > 16
                                    ? FakeQuantization{}
                                    : fake_quantization(static_cast<double>(o.number<float>(0)),
                                                        static_cast<double>(o.number<float>(1)), bits, o.flag(3));
  if (bits < 2 || bits > 16 || !(form.scale > 0))
    return site.error("rounds numbers from " + std::to_string(o.number<float>(0)) + " to " +
                      std::to_string(o.number<float>(1)) + " to " + std::to_string(bits) +
                      " bits; expected numbers in order, and 2 to 16 bits");
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(fake_quantized(site, x, {form}));
}

}  // namespace

TfliteRows matrix_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BROADCAST_ARGS", 2, import_broadcast_args},   {"DYNAMIC_UPDATE_SLICE", 3, import_dynamic_update_slice},
      {"FAKE_QUANT", 1, import_fake_quant},           {"MATRIX_DIAG", 1, import_matrix_diag},
      {"MATRIX_SET_DIAG", 2, import_matrix_set_diag},
  };
  return kRows;
}

}  // namespace whet::tflite
