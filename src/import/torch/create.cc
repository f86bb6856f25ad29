#include <algorithm>
#include <cmath>

#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

/// The type that is asked for, else `otherwise`.
Result<DType> type_or(TorchSite& site, DType otherwise) {
  return site.has("dtype") ? site.dtype("dtype") : Result<DType>(otherwise);
}

using Sizes = std::vector<Size>;

Status give_filled(TorchSite& site, const Sizes& sizes, const Tensor& value) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(sizes)));
  return site.give(filled(site, sizes, value));
}

Status give_number(TorchSite& site, double number, const Sizes& sizes, DType dtype) {
  return give_filled(site, sizes, Tensor::of<double>(dtype, {}, {number}));
}

/// A number that may be computed, in its own type or in the one that is asked for, in every place.
Status give_filled(TorchSite& site, const Sizes& sizes, std::string_view name, std::optional<DType> dtype) {
  WHET_TRY(const DType own, site.common_type({name}));
  WHET_TRY(const ValueId value, site.operand(name, dtype.value_or(own)));
  if (const Tensor* known = site.constant(value)) return give_filled(site, sizes, *known);
  return site.give(expanded(site, value, sizes));
}

Result<std::optional<DType>> wanted_type(TorchSite& site) {
  if (!site.has("dtype")) return std::optional<DType>();
  WHET_TRY(const DType dtype, site.dtype("dtype"));
  return std::optional(dtype);
}

Status give_like(TorchSite& site, double number) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  const Sizes shape = site.sizes(x);
  DType dtype = site.dtype(x);
  if (site.op().find("_like") != std::string::npos) {
    WHET_TRY(dtype, type_or(site, dtype));
  }
  return give_number(site, number, shape, dtype);
}

Status give_sized(TorchSite& site, double number) {
  WHET_TRY(const Sizes shape, site.sizes("size"));
  WHET_TRY(const DType dtype, type_or(site, DType::f32));
  return give_number(site, number, shape, dtype);
}

/// Known numbers as another type. They may be more than are folded.
Result<ValueId> typed_numbers(TorchSite& site, ValueId x, DType dtype) {
  if (site.dtype(x) == dtype || site.constant(x) == nullptr) return site.cast("typed", x, dtype);
  const Tensor numbers = *site.constant(x);
  Tensor typed(dtype, numbers.shape());
  for (std::int64_t i = 0; i < numbers.size(); ++i) typed.set(i, numbers.get(i));
  return site.add_constant("typed", std::move(typed));
}

Status import_zeros(TorchSite& site) { return give_sized(site, 0); }
Status import_ones(TorchSite& site) { return give_sized(site, 1); }
Status import_empty(TorchSite& site) { return give_sized(site, 0); }
Status import_zeros_like(TorchSite& site) { return give_like(site, 0); }
Status import_ones_like(TorchSite& site) { return give_like(site, 1); }

Status import_full(TorchSite& site) {
  WHET_TRY(const Sizes shape, site.sizes("size"));
  WHET_TRY(const auto dtype, wanted_type(site));
  return give_filled(site, shape, "fill_value", dtype);
}
Status import_full_like(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  const Sizes shape = site.sizes(x);
  WHET_TRY(const DType dtype, type_or(site, site.dtype(x)));
  return give_filled(site, shape, "fill_value", dtype);
}
/// new_zeros, new_ones, new_empty and new_full: of the type of a tensor.
Status import_new_full(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Sizes shape, site.sizes("size"));
  WHET_TRY(const DType dtype, type_or(site, site.dtype(x)));
  if (site.op().find("new_full") == std::string::npos)
    return give_number(site, site.op().find("new_ones") != std::string::npos ? 1 : 0, shape, dtype);
  return give_filled(site, shape, "fill_value", dtype);
}
/// The value, which may be computed, in every place of a tensor.
Status import_fill(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  const Sizes shape = site.sizes(x);
  WHET_TRY(const ValueId value, site.operand("value", site.dtype(x)));
  return site.give(expanded(site, value, shape));
}

Status import_scalar_tensor(TorchSite& site) {
  WHET_TRY(const auto dtype, wanted_type(site));
  WHET_TRY(const DType own, site.common_type({"s"}));
  return site.give(site.operand("s", dtype.value_or(own)));
}

Status import_arange(TorchSite& site) {
  const bool from_zero = site.op().ends_with(".default");
  std::vector<std::string_view> names = {"end"};
  if (!from_zero) names.insert(names.end(), {"start", "step"});
  WHET_TRY(DType dtype, site.common_type(names));
  WHET_TRY(const auto wanted, wanted_type(site));
  // Whole numbers are counted as i64, others in f64, and then have the type that is asked for.
  const DType counting = is_float(dtype) ? DType::f64 : DType::i64;
  if (!is_float(dtype)) dtype = DType::i64;
  ValueId start = site.add_scalar("start", counting, 0), step = site.add_scalar("step", counting, 1);
  WHET_TRY(const ValueId end, site.operand("end", counting));
  if (!from_zero) {
    WHET_TRY(start, site.operand("start", counting));
    WHET_TRY(step, site.operand("step", counting));
  }
  if (const Tensor* known = site.constant(step); known != nullptr && known->get(0) == 0)
    return site.error("argument \"step\" is 0");
  WHET_TRY(const ValueId numbers, range(site, start, end, step));
  return site.give(typed_numbers(site, numbers, wanted.value_or(dtype)));
}

Status import_linspace(TorchSite& site) {
  WHET_TRY(const double start, site.number("start"));
  WHET_TRY(const double end, site.number("end"));
  WHET_TRY(const std::int64_t steps, site.integer("steps"));
  WHET_TRY(const DType dtype, type_or(site, DType::f32));
  WHET_RETURN_IF_ERROR(expect_small(site, {steps}, "the result"));
  Tensor numbers(dtype, {steps});
  const double way = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  for (std::int64_t i = 0; i < steps; ++i) numbers.set(i, start + way * static_cast<double>(i));
  return site.give_constant(numbers);
}

Status import_eye(TorchSite& site) {
  WHET_TRY(const std::int64_t rows, site.integer("n"));
  std::int64_t columns = rows;
  if (site.op().ends_with(".m")) {
    WHET_TRY(columns, site.integer("m"));
  }
  WHET_TRY(const DType dtype, type_or(site, DType::f32));
  WHET_RETURN_IF_ERROR(expect_small(site, {rows, columns}, "the result"));
  return site.give_constant(eye(dtype, rows, columns, 0));
}

/// The places [2, n] of a triangle of a matrix, row by row: those of row r are before column r + offset + 1, or from column
/// r + offset on (`upper`). Only rows that have some are walked.
Status import_triangle_indices(TorchSite& site) {
  WHET_TRY(const std::int64_t rows, site.integer("row"));
  WHET_TRY(const std::int64_t columns, site.integer("col"));
  WHET_TRY(std::int64_t offset, site.integer("offset"));
  WHET_TRY(const DType dtype, type_or(site, DType::i64));
  WHET_RETURN_IF_ERROR(expect_small(site, {2, rows, columns}, "the list of places"));
  const bool upper = site.op().find("triu") != std::string::npos;
  offset = std::clamp(offset, -kMaxElements, kMaxElements);
  const std::int64_t first = upper ? 0 : std::clamp<std::int64_t>(-offset, 0, rows);
  const std::int64_t last = columns == 0 ? 0 : upper ? std::clamp<std::int64_t>(columns - offset, 0, rows) : rows;
  std::vector<std::int64_t> row, column;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t begin = upper ? std::max<std::int64_t>(r + offset, 0) : 0;
    const std::int64_t end = upper ? columns : std::min(r + offset + 1, columns);
    for (std::int64_t c = begin; c < end; ++c) {
      row.push_back(r);
      column.push_back(c);
    }
  }
  const auto count = static_cast<std::int64_t>(row.size());
  Tensor places(dtype, {2, count});
  for (std::int64_t i = 0; i < count; ++i) {
    places.set_integer(i, row[static_cast<std::size_t>(i)]);
    places.set_integer(count + i, column[static_cast<std::size_t>(i)]);
  }
  return site.give_constant(places);
}

constexpr std::string_view kLike = "self dtype=none";

}  // namespace

TorchRows create_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.arange", "default", "end dtype=none", import_arange},
      {"aten.arange", "start start_step", "start end step=1 dtype=none", import_arange},
      {"aten.empty", "memory_format", "size dtype=none", import_empty},
      {"aten.empty_like", "default", kLike, import_zeros_like},
      {"aten.eye", "default", "n dtype=none", import_eye},
      {"aten.eye", "m", "n m dtype=none", import_eye},
      {"aten.fill", "Scalar Tensor", "self value", import_fill},
      {"aten.full", "default", "size fill_value dtype=none", import_full},
      {"aten.full_like", "default", "self fill_value dtype=none", import_full_like},
      {"aten.linspace", "default", "start end steps dtype=none", import_linspace},
      {"aten.new_empty", "default", "self size dtype=none", import_new_full},
      {"aten.new_full", "default", "self size fill_value dtype=none", import_new_full},
      {"aten.new_ones", "default", "self size dtype=none", import_new_full},
      {"aten.new_zeros", "default", "self size dtype=none", import_new_full},
      {"aten.ones", "default", "size dtype=none", import_ones},
      {"aten.ones_like", "default", kLike, import_ones_like},
      {"aten.scalar_tensor", "default", "s dtype=none", import_scalar_tensor},
      {"aten.tril_indices", "default", "row col offset=0 dtype=none", import_triangle_indices},
      {"aten.triu_indices", "default", "row col offset=0 dtype=none", import_triangle_indices},
      {"aten.zero", "default", "self", import_zeros_like},
      {"aten.zeros", "default", "size dtype=none", import_zeros},
      {"aten.zeros_like", "default", kLike, import_zeros_like},
  };
  return kRows;
}

}  // namespace whet::torch
