#include "import/parts/quantize.h"

#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

/// Scale and zero point as they broadcast to x.
struct Form {
  ValueId x, scale, zero;
  double low, high;
};
Result<Form> read_tensor_form(TorchSite& site) {
  Form form{};
  WHET_TRY(form.x, site.tensor("input"));
  WHET_TRY(form.scale, site.operand("scale", DType::f32));
  WHET_TRY(form.zero, site.operand("zero_point", DType::i32));
  WHET_TRY(form.scale, of_all(site, "scale_value", {form.scale, "the scale"}));
  WHET_TRY(form.zero, of_all(site, "zero_value", {form.zero, "the zero point"}));
  return form;
}
Result<Form> read_channel_form(TorchSite& site) {
  Form form{};
  WHET_TRY(form.x, site.tensor("input"));
  WHET_TRY(const std::int64_t d, site.axis("axis", form.x));
  if (site.rank(form.x) == 0) return site.error("the input is a scalar");
  WHET_TRY(form.scale, site.operand("scales", DType::f32));
  WHET_TRY(form.zero, site.operand("zero_points", DType::i32));
  const Shape shape = site.shape(form.x);
  WHET_TRY(form.scale,
           along(site, "scale_column", {form.scale, "the list of scales"}, shape, static_cast<std::size_t>(d)));
  WHET_TRY(form.zero,
           along(site, "zero_column", {form.zero, "the list of zero points"}, shape, static_cast<std::size_t>(d)));
  return form;
}

/// round(x / scale) + zero, kept within the range that is asked for.
Status give_quantized(TorchSite& site, Form form) {
  WHET_TRY(const DType dtype, site.dtype("dtype"));
  WHET_TRY(form.low, site.number("quant_min"));
  WHET_TRY(form.high, site.number("quant_max"));
  if (is_float(dtype) || !is_float(site.dtype(form.x)))
    return site.error("quantizes " + to_string(site.type(form.x)) + " to " + std::string(whet::name_of(dtype)));
  WHET_TRY(const ValueId x, site.cast("float", form.x, DType::f32));
  WHET_TRY(ValueId y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, form.scale}));
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  WHET_TRY(const ValueId zero, site.cast("zero_float", form.zero, DType::f32));
  WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, zero}));
  WHET_TRY(y, site.add("saturated", ClipOperator{form.low, form.high}, {y}));
  return site.give(CastOperator{dtype}, {y});
}

Status give_dequantized(TorchSite& site, const Form& form) {
  DType dtype = DType::f32;
  if (site.has("out_dtype")) {
    WHET_TRY(dtype, site.dtype("out_dtype"));
  }
  return site.give(dequantized(site, form.x, form.scale, form.zero, dtype));
}

Status import_quantize_tensor(TorchSite& site) {
  WHET_TRY(const Form form, read_tensor_form(site));
  return give_quantized(site, form);
}
Status import_quantize_channel(TorchSite& site) {
  WHET_TRY(const Form form, read_channel_form(site));
  return give_quantized(site, form);
}
Status import_dequantize_tensor(TorchSite& site) {
  WHET_TRY(const Form form, read_tensor_form(site));
  return give_dequantized(site, form);
}
Status import_dequantize_channel(TorchSite& site) {
  WHET_TRY(const Form form, read_channel_form(site));
  return give_dequantized(site, form);
}

}  // namespace

TorchRows quantize_rows() {
  static constexpr TorchRow kRows[] = {
      {"quantized_decomposed.dequantize_per_channel", "default",
       "input scales zero_points axis quant_min quant_max dtype=none out_dtype=none", import_dequantize_channel},
      {"quantized_decomposed.dequantize_per_tensor", "default tensor",
       "input scale zero_point quant_min quant_max dtype=none out_dtype=none", import_dequantize_tensor},
      {"quantized_decomposed.quantize_per_channel", "default",
       "input scales zero_points axis quant_min quant_max dtype", import_quantize_channel},
      {"quantized_decomposed.quantize_per_tensor", "default tensor", "input scale zero_point quant_min quant_max dtype",
       import_quantize_tensor},
  };
  return kRows;
}

}  // namespace whet::torch
