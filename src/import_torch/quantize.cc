#include "import/parts/quantize.h"

#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/parts/bits.h"
#include "import/parts/matrix.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// round(x / scale) + zero, kept within the range that is asked for; scale and zero point broadcast to x.
Status give_quantized(TorchSite& site, ValueId x, ValueId scale, ValueId zero, double low, double high, DType dtype) {
  if (is_float(dtype) || !is_float(site.dtype(x)))
    return site.error("quantizes " + to_string(site.type(x)) + " to " + std::string(whet::name_of(dtype)));
  WHET_TRY(x, site.cast("float", x, DType::f32));
  WHET_TRY(ValueId y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, scale}));
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  WHET_TRY(zero, site.cast("zero_float", zero, DType::f32));
  WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, zero}));
  WHET_TRY(y, site.add("saturated", ClipOperator{low, high}, {y}));
  return site.give(CastOperator{dtype}, {y});
}

Status of_tensor(TorchSite& site, ValueId& scale, ValueId& zero) {
  WHET_TRY(scale, of_all(site, "scale_value", {scale, "the scale"}));
  WHET_TRY(zero, of_all(site, "zero_value", {zero, "the zero point"}));
  return ok_status();
}
Status of_channels(TorchSite& site, ValueId x, std::int64_t axis, ValueId& scales, ValueId& zeros) {
  const Shape shape = site.shape(x);
  const auto d = static_cast<std::size_t>(axis);
  WHET_TRY(scales, along(site, "scale_column", {scales, "the list of scales"}, shape, d));
  WHET_TRY(zeros, along(site, "zero_column", {zeros, "the list of zero points"}, shape, d));
  return ok_status();
}

Status import_quantize(TorchSite& site, ValueId x, ValueId scale, ValueId zero, double low, double high, DType dtype) {
  WHET_RETURN_IF_ERROR(of_tensor(site, scale, zero));
  return give_quantized(site, x, scale, zero, low, high, dtype);
}
Status import_quantize_channels(TorchSite& site, ValueId x, ValueId scales, ValueId zeros, std::int64_t axis,
                                double low, double high, DType dtype) {
  WHET_RETURN_IF_ERROR(of_channels(site, x, axis, scales, zeros));
  return give_quantized(site, x, scales, zeros, low, high, dtype);
}
Result<ValueId> import_dequantize(TorchSite& site, ValueId x, ValueId scale, ValueId zero, std::optional<DType> to) {
  WHET_RETURN_IF_ERROR(of_tensor(site, scale, zero));
  return dequantized(site, x, scale, zero, to.value_or(DType::f32));
}
Result<ValueId> import_dequantize_channels(TorchSite& site, ValueId x, ValueId scales, ValueId zeros, std::int64_t axis,
                                           std::optional<DType> to) {
  WHET_RETURN_IF_ERROR(of_channels(site, x, axis, scales, zeros));
  return dequantized(site, x, scales, zeros, to.value_or(DType::f32));
}

/// (number - zero) * scale of what `give_quantized` computes, without a type of integers between.
Result<ValueId> fake_quantized_by(TorchSite& site, ValueId x, ValueId scale, ValueId zero, double low, double high) {
  WHET_TRY(const ValueId inverse, site.add("inverse", UnaryOperator{UnaryKind::reciprocal}, {scale}));
  WHET_TRY(ValueId y, site.add("divided", BinaryOperator{BinaryKind::mul}, {x, inverse}));
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  WHET_TRY(zero, site.cast("zero_float", zero, DType::f32));
  WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, zero}));
  WHET_TRY(y, site.add("saturated", ClipOperator{low, high}, {y}));
  WHET_TRY(y, site.add("centred", BinaryOperator{BinaryKind::sub}, {y, zero}));
  return site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, scale});
}
Result<ValueId> import_fake_quantize(TorchSite& site, ValueId x, ValueId scale, ValueId zero, double low, double high) {
  WHET_RETURN_IF_ERROR(of_tensor(site, scale, zero));
  return fake_quantized_by(site, x, scale, zero, low, high);
}
Result<ValueId> import_fake_quantize_channels(TorchSite& site, ValueId x, ValueId scales, ValueId zeros,
                                              std::int64_t axis, double low, double high) {
  WHET_RETURN_IF_ERROR(of_channels(site, x, axis, scales, zeros));
  return fake_quantized_by(site, x, scales, zeros, low, high);
}

/// Products of i8, summed in i32.
Result<ValueId> import_int_mm(TorchSite& site, ValueId a, ValueId b) {
  WHET_TRY(a, site.cast("a_wide", a, DType::i32));
  WHET_TRY(b, site.cast("b_wide", b, DType::i32));
  return matmul(site, a, b);
}
/// x wᵀ by weights of i8 with a scale for each row.
/// Torch adds up and scales in f32, and rounds once to the type of x.
Status import_int8pack_mm(TorchSite& site, ValueId x, ValueId w, ValueId scales) {
  const DType given = site.dtype(x);
  WHET_TRY(x, site.cast("x", x, DType::f32));
  WHET_TRY(w, site.cast("weights", w, DType::f32));
  WHET_TRY(scales, site.cast("scales", scales, DType::f32));
  WHET_TRY(const ValueId product, site.add("product", MatMulOperator{.transpose_b = true}, {x, w}));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {product, scales}));
  WHET_TRY(const ValueId rounded, site.cast("rounded", scaled, given));
  return site.give(rounded);
}

/// How numbers of torch's types lie in memory.
struct BitRow {
  std::int64_t type;
  BitForm form;
};
constexpr BitRow kBits[] = {{1, {1, false}},  {2, {1}},           {3, {2}},           {4, {4}},
                            {5, {8}},         {6, {2, true, 10}}, {7, {4, true, 23}}, {8, {8, true, 52}},
                            {12, {1, false}}, {13, {2, true, 7}}, {28, {2, false}},   {30, {1, true, 2}}};
const BitRow* bits_of(ScalarType type) {
  const auto* row =
      std::find_if(std::begin(kBits), std::end(kBits), [&](const BitRow& each) { return each.type == type.number; });
  return row == std::end(kBits) ? nullptr : row;
}
Result<ValueId> import_view_bits(TorchSite& site, ValueId x, DType dtype) {
  WHET_TRY(const ScalarType own, site.torch_type("self"));
  const ScalarType type = site.said_type("dtype");
  if (own.number == type.number) return x;
  const BitRow *from = bits_of(own), *to = bits_of(type);
  if (from == nullptr || to == nullptr)
    return site.error("takes bits of " + name_of(own) + " as " + name_of(type) + ", which is not supported");
  const auto held = [](DType type) {
    return type == DType::bf16 ? DType::f32 : type == DType::i16 ? DType::i32 : type;
  };
  WHET_TRY(x, site.cast("wide", x, held(site.dtype(x))));
  WHET_TRY(const ValueId y, view_bits(site, x, from->form, to->form, held(dtype)));
  return site.cast("bits", y, dtype);
}

}  // namespace

TorchRows quantize_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._int_mm", "default", "self mat2", calls<import_int_mm>},
      {"aten._weight_int8pack_mm", "default", "self mat2 scales(self)", calls<import_int8pack_mm>},
      {"aten.view", "dtype", "self dtype", calls<import_view_bits>},
      {"aten.fake_quantize_per_channel_affine aten.fake_quantize_per_channel_affine_cachemask", "default",
       "self scale:f32 zero_point:i32 axis(self!) quant_min quant_max", calls<import_fake_quantize_channels>},
      {"aten.fake_quantize_per_tensor_affine aten.fake_quantize_per_tensor_affine_cachemask", "default tensor_qparams",
       "self scale:f32 zero_point:i32 quant_min quant_max", calls<import_fake_quantize>},
      {"quantized_decomposed.dequantize_per_channel", "default",
       "input scales:f32 zero_points:i32 axis(input!) ~quant_min ~quant_max ~dtype out_dtype?",
       calls<import_dequantize_channels>},
      {"quantized_decomposed.dequantize_per_tensor", "default tensor",
       "input scale:f32 zero_point:i32 ~quant_min ~quant_max ~dtype out_dtype?", calls<import_dequantize>},
      {"quantized_decomposed.quantize_per_channel", "default",
       "input scales:f32 zero_points:i32 axis(input!) quant_min quant_max dtype", calls<import_quantize_channels>},
      {"quantized_decomposed.quantize_per_tensor", "default tensor",
       "input scale:f32 zero_point:i32 quant_min quant_max dtype", calls<import_quantize>},
  };
  return kRows;
}

}  // namespace whet::torch
