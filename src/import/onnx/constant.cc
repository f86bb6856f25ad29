#include <cmath>

#include "import/fold_shape.h"
#include "import/onnx/importers.h"

namespace whet {
namespace {

/// How many of start, start + delta, ... lie before `limit`; exact for numbers of which a double loses digits. In
/// unsigned arithmetic: the distance of far numbers overflows.
double count_of(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0 || (delta > 0 ? limit <= start : limit >= start)) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit),
             by = static_cast<std::uint64_t>(delta);
  const std::uint64_t distance = delta > 0 ? to - from : from - to, step = delta > 0 ? by : 0 - by;
  return static_cast<double>((distance - 1) / step + 1);
}

}  // namespace

Status import_constant(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(0));
  if (site.has_attribute("value_int")) {
    WHET_TRY(const std::int64_t value, site.integer("value_int", 0));
    Tensor scalar(DType::i64, {});
    scalar.set_integer(0, value);
    return site.give_constant(scalar);
  }
  if (site.has_attribute("value_ints")) {
    WHET_TRY(const std::vector<std::int64_t> values, site.integers("value_ints", {}));
    Tensor list(DType::i64, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) list.set_integer(static_cast<std::int64_t>(i), values[i]);
    return site.give_constant(list);
  }
  if (site.has_attribute("value_float")) {
    WHET_TRY(const double value, site.number("value_float", 0));
    return site.give_constant(Tensor::of<double>(DType::f32, {}, {value}));
  }
  if (site.has_attribute("value_floats")) {
    WHET_TRY(const std::vector<double> values, site.numbers("value_floats", {}));
    return site.give_constant(Tensor::of(DType::f32, {static_cast<std::int64_t>(values.size())}, values));
  }
  WHET_TRY(const std::optional<Tensor> tensor, site.tensor("value"));
  if (tensor) return site.give_constant(*tensor);
  for (const char* other : {"sparse_value", "value_string", "value_strings"}) {
    if (!site.has_attribute(other)) continue;
    return site.error("attribute \"" + std::string(other) + "\" is not supported; expected a dense tensor of numbers");
  }
  return site.error("has no attribute \"value\", \"value_int\", \"value_ints\", \"value_float\" or \"value_floats\"");
}

Status import_constant_of_shape(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const Shape shape, site.known_integers(0, "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  WHET_TRY(const std::optional<Tensor> given, site.tensor("value"));
  const Tensor value = given ? *given : Tensor(DType::f32, {1});
  if (value.size() != 1) {
    return site.error("attribute \"value\" is " + to_string(value.type()) + "; expected one element");
  }
  // A large tensor of one value stays a broadcast.
  const ValueId scalar = site.add_constant("value", value.reshaped({}));
  if (num_elements(shape) > kMaxFoldedFloats) return site.give(ExpandOperator{shape}, {scalar});
  Tensor filled(value.dtype(), shape);
  for (std::int64_t i = 0; i < filled.size(); ++i) {
    if (is_float(value.dtype())) {
      filled.set(i, value.get(0));
    } else {
      filled.set_integer(i, value.integer(0));
    }
  }
  return site.give_constant(filled);
}

Status import_range(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Tensor start, site.known(0, "start"));
  WHET_TRY(const Tensor limit, site.known(1, "limit"));
  WHET_TRY(const Tensor delta, site.known(2, "delta"));
  const bool scalars = start.size() == 1 && limit.size() == 1 && delta.size() == 1;
  if (!scalars || start.dtype() != limit.dtype() || start.dtype() != delta.dtype() || start.dtype() == DType::boolean) {
    return site.error("counts from " + to_string(start.type()) + " to " + to_string(limit.type()) + " by " +
                      to_string(delta.type()) + "; expected three numbers of one type");
  }
  const double count = is_float(start.dtype()) ? std::ceil((limit.get(0) - start.get(0)) / delta.get(0))
                                               : count_of(start.integer(0), limit.integer(0), delta.integer(0));
  if (!(delta.get(0) != 0) || std::isnan(count) || count > static_cast<double>(kMaxFoldedElements)) {
    return site.error("counts from " + std::to_string(start.get(0)) + " to " + std::to_string(limit.get(0)) + " by " +
                      std::to_string(delta.get(0)));
  }
  Tensor range(start.dtype(), {static_cast<std::int64_t>(std::max(count, 0.0))});
  for (std::int64_t i = 0; i < range.size(); ++i) {
    if (is_float(range.dtype())) {
      range.set(i, start.get(0) + static_cast<double>(i) * delta.get(0));
    } else {
      // In unsigned arithmetic: far numbers in a damaged file may overflow.
      const auto step = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta.integer(0));
      range.set_integer(i, static_cast<std::int64_t>(static_cast<std::uint64_t>(start.integer(0)) + step));
    }
  }
  return site.give_constant(range);
}

}  // namespace whet
