#include "import/parts/constant.h"

#include "import/parts/shape.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

Status import_constant(OnnxSite& site, std::optional<Tensor> tensor, std::optional<Tensor> sparse,
                       std::optional<std::int64_t> integer, std::optional<Ints> integers, std::optional<double> number,
                       std::optional<Numbers> numbers) {
  if (integer) {
    Tensor scalar(DType::i64, {});
    scalar.set_integer(0, *integer);
    return site.give_constant(scalar);
  }
  if (integers) return site.give_constant(integer_list(*integers));
  if (number) return site.give_constant(Tensor::of<double>(DType::f32, {}, {*number}));
  if (numbers)
    return site.give_constant(Tensor::of(DType::f32, {static_cast<std::int64_t>(numbers->size())}, *numbers));
  if (tensor) return site.give_constant(*tensor);
  if (sparse) return site.give_constant(*sparse);
  for (const char* other : {"value_string", "value_strings"}) {
    if (!site.has_attribute(other)) continue;
    return site.error("attribute \"" + std::string(other) + "\" is not supported; expected a tensor of numbers");
  }
  return site.error("has no attribute \"value\", \"value_int\", \"value_ints\", \"value_float\" or \"value_floats\"");
}

Result<ValueId> import_constant_of_shape(OnnxSite& site, const std::vector<Size>& shape, std::optional<Tensor> value) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(shape)));
  if (!value) value = Tensor(DType::f32, {1});
  if (value->size() == 1) return filled(site, shape, *value);
  return site.error("attribute \"value\" is " + to_string(value->type()) + "; expected one element");
}

Result<ValueId> import_range(OnnxSite& site, ValueId start, ValueId limit, ValueId delta) {
  return range(site, start, limit, delta);
}

}  // namespace

OnnxRows onnx_constant() {
  static constexpr OnnxRow kRows[] = {
      {"Constant", 1, "@value? @sparse_value? @value_int? @value_ints? @value_float? @value_floats?",
       calls<import_constant>},
      {"ConstantOfShape", 9, "shape @value?", calls<import_constant_of_shape>},
      {"Range", 11, "start limit delta", calls<import_range>},
  };
  return kRows;
}

}  // namespace whet
