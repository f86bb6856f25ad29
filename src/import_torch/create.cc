#include <algorithm>
#include <cmath>

#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using Type = std::optional<DType>;

Result<ValueId> filled_with(TorchSite& site, const Sizes& sizes, const Tensor& value) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(sizes)));
  return filled(site, sizes, value);
}

template <int number>
Result<ValueId> import_filled(TorchSite& site, const Sizes& sizes, Type dtype) {
  return filled_with(site, sizes, Tensor::of<double>(dtype.value_or(DType::f32), {}, {number}));
}
/// Of the type of a tensor.
template <int number>
Result<ValueId> import_new(TorchSite& site, ValueId x, const Sizes& sizes, Type dtype) {
  return import_filled<number>(site, sizes, dtype.value_or(site.dtype(x)));
}
template <int number>
Result<ValueId> import_filled_like(TorchSite& site, ValueId x, Type dtype) {
  return import_new<number>(site, x, site.sizes(x), dtype);
}
/// A number that may be computed in every place.
Result<ValueId> import_full(TorchSite& site, const Sizes& sizes, ValueId value) {
  if (const Tensor* known = site.constant(value)) return filled_with(site, sizes, *known);
  return expanded(site, value, sizes);
}
Result<ValueId> import_full_like(TorchSite& site, ValueId x, ValueId value) {
  return import_full(site, site.sizes(x), value);
}
Result<ValueId> import_scalar(TorchSite&, ValueId value) { return value; }

/// Known numbers as another type. They may be more than are folded.
Result<ValueId> typed_numbers(TorchSite& site, ValueId x, DType dtype) {
  if (site.dtype(x) == dtype || site.constant(x) == nullptr) return site.cast("typed", x, dtype);
  const Tensor numbers = *site.constant(x);
  Tensor typed(dtype, numbers.shape());
  for (std::int64_t i = 0; i < numbers.size(); ++i) typed.set(i, numbers.get(i));
  return site.add_constant("typed", std::move(typed));
}

/// Whole numbers are counted as i64, others in f64, and then have the type that is asked for.
Result<ValueId> import_arange(TorchSite& site, ValueId start, ValueId end, ValueId step, Type dtype) {
  if (const Tensor* known = site.constant(step); known != nullptr && known->get(0) == 0)
    return site.error("argument \"step\" is 0");
  WHET_TRY(const ValueId numbers, range(site, start, end, step));
  return typed_numbers(site, numbers, dtype.value_or(is_float(site.dtype(end)) ? DType::f32 : DType::i64));
}
Result<ValueId> import_arange_to(TorchSite& site, ValueId end, ValueId start, ValueId step, Type dtype) {
  return import_arange(site, start, end, step, dtype);
}

Status import_linspace(TorchSite& site, double start, double end, std::int64_t steps, Type dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {steps}, "the result"));
  const double way = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  return site.give_constant(numbered({steps}, dtype.value_or(DType::f32), start, way));
}

Status import_eye(TorchSite& site, std::int64_t rows, std::optional<std::int64_t> columns, Type dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {rows, columns.value_or(rows)}, "the result"));
  return site.give_constant(eye(dtype.value_or(DType::f32), rows, columns.value_or(rows), 0));
}

/// The places [2, n] of a triangle of a matrix, row by row: those of row r are before column r + offset + 1, or from column
/// r + offset on (`upper`). Only rows that have some are walked.
template <bool upper>
Status import_triangle(TorchSite& site, std::int64_t rows, std::int64_t columns, std::int64_t offset, Type dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {2, rows, columns}, "the list of places"));
  offset = std::clamp(offset, -kMaxElements, kMaxElements);
  const std::int64_t first = upper ? 0 : std::clamp<std::int64_t>(-offset, 0, rows);
  const std::int64_t last = columns == 0 ? 0 : upper ? std::clamp<std::int64_t>(columns - offset, 0, rows) : rows;
  Ints row, column;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t begin = upper ? std::max<std::int64_t>(r + offset, 0) : 0;
    const std::int64_t end = upper ? columns : std::min(r + offset + 1, columns);
    for (std::int64_t c = begin; c < end; ++c) {
      row.push_back(r);
      column.push_back(c);
    }
  }
  const auto count = static_cast<std::int64_t>(row.size());
  Tensor places(dtype.value_or(DType::i64), {2, count});
  for (std::int64_t i = 0; i < count; ++i) {
    places.set_integer(i, row[static_cast<std::size_t>(i)]);
    places.set_integer(count + i, column[static_cast<std::size_t>(i)]);
  }
  return site.give_constant(places);
}

constexpr std::string_view kSized = "size dtype?", kLike = "self dtype?", kNew = "self size dtype?",
                           kTriangle = "row col offset=0 dtype?";

}  // namespace

TorchRows create_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.arange", "default", "end:number start:number=0 step:number=1 dtype?", calls<import_arange_to>},
      {"aten.arange", "start start_step", "start:number end:number step:number=1 dtype?", calls<import_arange>},
      {"aten.empty", "memory_format", kSized, calls<import_filled<0>>, kOfParts},
      {"aten.empty_like aten.zeros_like", "default", kLike, calls<import_filled_like<0>>, kOfParts},
      {"aten.eye", "default m", "n m? dtype?", calls<import_eye>},
      {"aten.full", "default", "size fill_value(dtype):common dtype?", calls<import_full>, kOfParts},
      {"aten.full_like", "default", "self fill_value(dtype|self) dtype?", calls<import_full_like>},
      {"aten.linspace", "default", "start end steps dtype?", calls<import_linspace>},
      {"aten.new_empty aten.new_zeros", "default", kNew, calls<import_new<0>>, kOfParts},
      {"aten.new_full", "default", "~self size fill_value(dtype|self) dtype?", calls<import_full>, kOfParts},
      {"aten.new_ones", "default", kNew, calls<import_new<1>>, kOfParts},
      {"aten.ones", "default", kSized, calls<import_filled<1>>, kOfParts},
      {"aten.ones_like", "default", kLike, calls<import_filled_like<1>>},
      {"aten.scalar_tensor", "default", "s(dtype):common dtype?", calls<import_scalar>},
      {"aten.tril_indices", "default", kTriangle, calls<import_triangle<false>>},
      {"aten.triu_indices", "default", kTriangle, calls<import_triangle<true>>},
      {"aten.zero", "default", kLike, calls<import_filled_like<0>>, kOfParts},
      {"aten.zeros", "default", kSized, calls<import_filled<0>>, kOfParts},
  };
  return kRows;
}

}  // namespace whet::torch
