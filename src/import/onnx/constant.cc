#include "import/parts/constant.h"

#include "import/onnx/importers.h"

namespace whet {
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
  WHET_TRY(const std::vector<Size> shape, site.known_sizes(site.in(0), "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(shape)));
  WHET_TRY(const std::optional<Tensor> given, site.tensor("value"));
  const Tensor value = given ? *given : Tensor(DType::f32, {1});
  if (value.size() != 1) {
    return site.error("attribute \"value\" is " + to_string(value.type()) + "; expected one element");
  }
  return site.give(filled(site, shape, value));
}

Status import_range(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(range(site, site.in(0), site.in(1), site.in(2)));
}

}  // namespace whet
