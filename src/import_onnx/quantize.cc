#include "import/parts/quantize.h"

#include "import/parts/matrix.h"
#include "import/parts/shape.h"
#include "import_onnx/held_types.h"
#include "import_onnx/rows.h"
#include "import_onnx/window.h"

namespace whet {
namespace {

/// Input `i` as messages call it.
Operand operand(OnnxSite& site, std::size_t i) { return {site.in(i), "input " + std::to_string(i)}; }

/// Input `i`, of which each number is for a block of as many in a row along the axis, as input 0 is.
Result<ValueId> of_blocks(OnnxSite& site, std::size_t i, std::size_t axis) {
  const Shape x = site.shape(0), own = site.shape(i);
  WHET_TRY(const std::int64_t block, site.integer("block_size", 0));
  Shape fits = x;
  const bool is_known = block >= 1 && block <= kMaxElements;
  if (is_known) fits[axis] = (x[axis] + block - 1) / block;
  if (!is_known || own != fits)
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + " for blocks of " +
                      std::to_string(block) + " of " + to_string(x));
  WHET_TRY(const ValueId whole, each_repeated(site, site.in(i), static_cast<std::int64_t>(axis), block));
  return site.shape(whole) == x ? whole : site.add("cut", part_along(x, axis, 0, x[axis]), {whole});
}

/// Input `i`, a scale or zero point, along the attribute's axis of input 0.
Result<ValueId> along_axis(OnnxSite& site, const char* part, std::size_t i) {
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  if (num_elements(site.shape(i)) == 1) return of_all(site, part, operand(site, i));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  const auto d = static_cast<std::size_t>(axis);
  return site.rank(i) > 1 ? of_blocks(site, i, d) : along(site, part, operand(site, i), site.shape(0), d);
}

/// The type that an attribute names by the standard's number; 0, too, leaves it to the inputs.
Result<DType> type_attribute(OnnxSite& site, const char* attribute, DType fallback) {
  WHET_TRY(const std::int64_t number, site.integer(attribute, 0));
  if (number == 0) return fallback;
  const auto dtype = dtype_of_onnx(number, site.graph().native_types);
  if (dtype && onnx_type(*dtype) == number) return *dtype;
  return site.error("attribute \"" + std::string(attribute) + "\" is " + onnx_type_name(number) +
                    "; this type is not supported");
}

/// Input `i` is quantized, and its zero point `zero`, where there is one, is of its type.
Status expect_quantized(OnnxSite& site, std::size_t i, std::size_t zero) {
  if (!is_quantized(site.dtype(i))) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected u8 or i8");
  }
  if (!site.has(zero) || site.dtype(zero) == site.dtype(i)) return ok_status();
  return site.error("input " + std::to_string(zero) + " is " + to_string(site.type(site.in(zero))) + " beside " +
                    to_string(site.type(site.in(i))));
}

/// Input `i` without its zero point, input `zero`, which `aligned` makes broadcast to it.
template <typename Aligned>
Result<ValueId> centred_input(OnnxSite& site, std::size_t i, std::size_t zero, const Aligned& aligned) {
  WHET_RETURN_IF_ERROR(expect_quantized(site, i, zero));
  if (!site.has(zero)) return centred(site, site.in(i), std::nullopt);
  WHET_TRY(const ValueId point, aligned());
  return centred(site, site.in(i), point);
}

Result<ValueId> centred_matrix(OnnxSite& site, std::size_t i, std::size_t zero, bool columns) {
  return centred_input(site, i, zero,
                       [&] { return along_matrix(site, "zero", operand(site, zero), site.shape(i), columns); });
}

/// With one zero point, or one for each output channel.
Result<ValueId> centred_weights(OnnxSite& site, std::size_t i, std::size_t zero) {
  return centred_input(site, i, zero, [&] { return along(site, "zero", operand(site, zero), site.shape(i), 0); });
}

/// Channels first. Padding around the image is 0 after its zero point is taken away: it is the zero point itself.
Result<ValueId> centred_image(OnnxSite& site, std::size_t zero, bool channels_last) {
  WHET_TRY(const ValueId x, centred_input(site, 0, zero, [&] { return of_all(site, "zero", operand(site, zero)); }));
  return channels_first(site, x, channels_last);
}

/// A sum of products in the scale and type of the result, whose zero point `zero` is input `zero_input`.
Result<ValueId> rescaled_sum(OnnxSite& site, ValueId sum, const Scales& scales, std::size_t zero_input, ValueId zero) {
  const DType to = site.dtype(zero_input);
  if (is_quantized(to)) return rescaled(site, sum, scales, zero, to);
  return site.error("the zero point is " + to_string(site.type(site.in(zero_input))) + "; expected u8 or i8");
}

/// Input `i`, a scale of a whole tensor.
Result<ValueId> whole_scale(OnnxSite& site, std::size_t i) {
  if (!is_float(site.dtype(i))) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected floats");
  }
  WHET_TRY(const ValueId scale, of_all(site, "scale", operand(site, i)));
  return site.cast("scale_float", scale, DType::f32);
}

/// Input `i` as f32; its scale and zero point are the next two.
Result<ValueId> dequantized_input(OnnxSite& site, std::size_t i) {
  WHET_TRY(const ValueId scale, whole_scale(site, i + 1));
  WHET_TRY(ValueId x, centred_input(site, i, i + 2, [&] { return of_all(site, "zero", operand(site, i + 2)); }));
  WHET_TRY(x, site.add("float", CastOperator{DType::f32}, {x}));
  return site.add("dequantized", BinaryOperator{BinaryKind::mul}, {x, scale});
}

/// The result `y`, quantized with inputs `scale` and `scale` + 1.
Status give_requantized(OnnxSite& site, ValueId y, std::size_t scale) {
  const DType to = site.has(scale + 1) ? site.dtype(scale + 1) : DType::u8;
  if (!is_quantized(to)) return site.error("quantizes to " + std::string(name_of(to)) + "; expected u8 or i8");
  std::optional<ValueId> zero;
  if (site.has(scale + 1)) {
    WHET_TRY(zero, of_all(site, "zero", operand(site, scale + 1)));
  }
  WHET_TRY(const ValueId by, whole_scale(site, scale));
  return site.give(quantized(site, y, by, zero, to));
}

/// `compute` between inputs (x, its scale and zero point) and the result's scale and zero point.
template <typename Compute>
Status give_between(OnnxSite& site, const Compute& compute) {
  WHET_TRY(const ValueId x, dequantized_input(site, 0));
  WHET_TRY(const ValueId y, compute(x));
  return give_requantized(site, y, 3);
}

/// The numbers of a type, by the standard's number; none where nothing is quantized to it.
std::optional<QuantizedRange> range_of_type(std::int64_t type) {
  if (type == onnx_type(DType::u8) || type == onnx_type(DType::i8)) return range_of(*dtype_of_onnx(type, false));
  if (type == kUint16 || type == kInt16)
    return type == kUint16 ? QuantizedRange{0, 65535} : QuantizedRange{-32768, 32767};
  if (type == kUint4 || type == kInt4) return type == kUint4 ? QuantizedRange{0, 15} : QuantizedRange{-8, 7};
  return std::nullopt;
}

/// What QuantizeLinear gives, by the standard's number: "output_dtype" or the zero point says it.
Result<std::int64_t> quantized_type(OnnxSite& site) {
  WHET_TRY(const std::int64_t named, site.integer("output_dtype", 0));
  const std::int64_t zero = site.has(2) ? stored_type(site.graph(), site.in(2)) : 0;
  const std::int64_t type = named != 0 ? named : zero != 0 ? zero : onnx_type(DType::u8);
  const bool is_read = range_of_type(type).has_value();
  if (is_read && (zero == 0 || zero == type)) return type;
  return site.error("quantizes to " + onnx_type_name(type) + " with " +
                    (zero != 0 ? "a zero point of " + onnx_type_name(zero) : "no zero point") +
                    "; expected UINT8, INT8, UINT16, INT16, UINT4 or INT4 for both");
}

/// x / scale in the type that "precision" names, else in that of the scale.
Status import_quantize_linear(OnnxSite& site) {
  WHET_TRY(ValueId scale, along_axis(site, "scale", 1));
  WHET_TRY(const DType compute, type_attribute(site, "precision", site.dtype(1)));
  WHET_TRY(const std::int64_t type, quantized_type(site));
  std::optional<ValueId> zero;
  if (site.has(2)) {
    WHET_TRY(zero, along_axis(site, "zero", 2));
  }
  if (!is_float(compute)) return site.error("divides by " + to_string(site.type(site.in(1))) + "; expected floats");
  WHET_TRY(scale, site.cast("scale_cast", scale, compute));
  WHET_TRY(const ValueId x, site.cast("cast", site.in(0), compute));
  const DType dtype = *dtype_of_onnx(type, site.graph().native_types);
  WHET_RETURN_IF_ERROR(site.give(quantized(site, x, scale, zero, dtype, range_of_type(type))));
  if (type != onnx_type(dtype)) site.mark_held_result(type);
  return ok_status();
}

Status import_dequantize_linear(OnnxSite& site) {
  WHET_TRY(const ValueId scale, along_axis(site, "scale", 1));
  WHET_TRY(const DType to, type_attribute(site, "output_dtype", site.dtype(1)));
  if (!is_float(to)) return site.error("gives " + std::string(name_of(to)) + "; expected floats");
  std::optional<ValueId> zero;
  if (site.has(2)) {
    WHET_TRY(zero, along_axis(site, "zero", 2));
  }
  return site.give(dequantized(site, site.in(0), scale, zero, to));
}

Status import_dynamic_quantize_linear(OnnxSite& site, ValueId x) {
  WHET_TRY(const ByItself by, quantization_of(site, x));
  WHET_RETURN_IF_ERROR(site.pass(by.scale, 1));
  WHET_RETURN_IF_ERROR(site.pass(by.zero, 2));
  return site.give(quantized(site, x, by.scale, by.zero, DType::u8));
}

Status import_matmul_integer(OnnxSite& site) {
  WHET_TRY(const ValueId a, centred_matrix(site, 0, 2, false));
  WHET_TRY(const ValueId b, centred_matrix(site, 1, 3, true));
  WHET_TRY(const ValueId product, matmul(site, a, b));
  return site.pass(product);
}

Status import_conv_integer(OnnxSite& site) {
  WHET_TRY(const ConvOperator op, read_conv(site, site.in(0), site.in(1)));
  WHET_TRY(const ValueId x, centred_image(site, 2, false));
  WHET_TRY(const ValueId w, centred_weights(site, 1, 3));
  return site.give(op, {x, w});
}

/// (a, its scale and zero point, b, the same two, the result's scale and zero point)
Status import_qlinear_matmul(OnnxSite& site) {
  WHET_TRY(const ValueId a, centred_matrix(site, 0, 2, false));
  WHET_TRY(const ValueId b, centred_matrix(site, 3, 5, true));
  Scales scales;
  WHET_TRY(scales.left, along_matrix(site, "a_scale", operand(site, 1), site.shape(0), false));
  WHET_TRY(scales.right, along_matrix(site, "b_scale", operand(site, 4), site.shape(3), true));
  WHET_TRY(const ValueId product, matmul(site, a, b));
  const Shape y = site.type(product).shape;
  WHET_TRY(scales.result, along_matrix(site, "y_scale", operand(site, 6), y, false));
  WHET_TRY(const ValueId zero, along_matrix(site, "y_zero", operand(site, 7), y, false));
  return site.give(rescaled_sum(site, product, scales, 7, zero));
}

/// (x, its scale and zero point, w, the same two, the result's scale and zero point, a bias of the sums' scale). Weights have their
/// channels first in any case.
Status import_qlinear_conv(OnnxSite& site, bool channels_last) {
  WHET_TRY(const ValueId x, centred_image(site, 2, channels_last));
  WHET_TRY(const ConvOperator op, read_conv(site, x, site.in(3)));
  WHET_TRY(const ValueId w, centred_weights(site, 3, 5));
  ValueIds inputs = {x, w};
  if (site.has(8)) inputs.push_back(site.in(8));
  WHET_TRY(const ValueId sum, site.add("conv", op, inputs));
  Scales scales;
  WHET_TRY(scales.left, of_all(site, "x_scale", operand(site, 1)));
  WHET_TRY(scales.right, along(site, "w_scale", operand(site, 4), site.type(sum).shape, 1));
  WHET_TRY(scales.result, of_all(site, "y_scale", operand(site, 6)));
  WHET_TRY(const ValueId zero, of_all(site, "y_zero", operand(site, 7)));
  WHET_TRY(const ValueId y, rescaled_sum(site, sum, scales, 7, zero));
  return site.give(channels_back(site, y, channels_last));
}

// ---- ONNX Runtime's own

template <BinaryKind kind>
Status import_qlinear_binary(OnnxSite& site) {
  WHET_TRY(const ValueId a, dequantized_input(site, 0));
  WHET_TRY(const ValueId b, dequantized_input(site, 3));
  WHET_TRY(const ValueId y, site.add("result", BinaryOperator{kind}, {a, b}));
  return give_requantized(site, y, 6);
}

Status import_qlinear_sigmoid(OnnxSite& site) {
  return give_between(site, [&](ValueId x) { return site.add("sigmoid", UnaryOperator{UnaryKind::sigmoid}, {x}); });
}

Status import_qlinear_leaky_relu(OnnxSite& site, double alpha) {
  return give_between(site, [&](ValueId x) { return site.add("leaky_relu", LeakyReluOperator{alpha}, {x}); });
}

/// Over one axis, as the standard has it from operator set 13 on.
Status import_qlinear_softmax(OnnxSite& site, std::int64_t opset) {
  WHET_TRY(const std::int64_t given, site.integer("axis", opset < 13 ? 1 : -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  if (opset < 13 && axis + 1 != static_cast<std::int64_t>(site.rank(0))) {
    return site.error("softmax over several dimensions is not supported");
  }
  return give_between(site, [&](ValueId x) { return site.add("softmax", SoftmaxOperator{axis, false}, {x}); });
}

Status import_qlinear_global_average_pool(OnnxSite& site, bool channels_last) {
  const auto rank = static_cast<std::int64_t>(site.rank(0));
  if (rank < 3) return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected an image");
  ReduceOperator mean{ReduceKind::mean, {}, true};
  for (std::int64_t d = channels_last ? 1 : 2; d < (channels_last ? rank - 1 : rank); ++d) mean.axes.push_back(d);
  return give_between(site, [&](ValueId x) { return site.add("mean", mean, {x}); });
}

Status import_qlinear_average_pool(OnnxSite& site, bool channels_last, bool count_include_pad) {
  return give_between(site, [&](ValueId given) -> Result<ValueId> {
    WHET_TRY(const ValueId x, channels_first(site, given, channels_last));
    WHET_TRY(Pooling pooling, read_pooling(site, x, PoolKind::average));
    pooling.count_include_pad = count_include_pad;
    WHET_TRY(const ValueId y, pooled(site, x, pooling));
    return channels_back(site, y, channels_last);
  });
}

/// (condition, then two operands with their scales and zero points, the result's scale and zero point)
Status import_qlinear_where(OnnxSite& site) {
  WHET_TRY(const ValueId x, dequantized_input(site, 1));
  WHET_TRY(const ValueId y, dequantized_input(site, 4));
  WHET_TRY(const ValueId chosen, site.add("chosen", WhereOperator{}, {site.in(0), x, y}));
  return give_requantized(site, chosen, 7);
}

/// (the result's scale and zero point, then each part with its own)
Status import_qlinear_concat(OnnxSite& site, std::int64_t axis) {
  ValueIds list;
  for (std::size_t i = 2; i < site.input_count(); i += 3) {
    if (!site.has(i) || !site.has(i + 1)) return site.error("input " + std::to_string(i) + " or its scale is left out");
    WHET_TRY(const ValueId part, dequantized_input(site, i));
    list.push_back(part);
  }
  WHET_TRY(const ValueId y, site.add("concat", ConcatOperator{axis}, list));
  return give_requantized(site, y, 0);
}

/// alpha * a * b + c, where c counts in units of the product of the scales; f32 where the result has no scale.
Status import_qgemm(OnnxSite& site, bool transpose_a, bool transpose_b, double alpha) {
  const MatMulOperator op{.transpose_a = transpose_a, .transpose_b = transpose_b};
  if (site.rank(0) != 2 || site.rank(3) != 2) {
    return site.error("multiplies " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(site.in(3))) +
                      "; expected two matrices");
  }
  const auto b_along = [&](const char* part, std::size_t i) {
    return along(site, part, operand(site, i), site.shape(3), op.transpose_b ? 0 : 1);
  };
  WHET_TRY(const ValueId a, centred_input(site, 0, 2, [&] { return of_all(site, "zero", operand(site, 2)); }));
  WHET_TRY(const ValueId b, centred_input(site, 3, 5, [&] { return b_along("zero", 5); }));
  WHET_TRY(ValueId sum, site.add("matmul", op, {a, b}));
  if (site.has(6)) {
    if (site.dtype(6) != DType::i32) return site.error("adds " + to_string(site.type(site.in(6))) + "; expected i32");
    WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, site.in(6)}));
  }
  WHET_TRY(ValueId scale, whole_scale(site, 1));
  WHET_TRY(ValueId b_scale, along(site, "b_scale", operand(site, 4), site.type(sum).shape, 1));
  WHET_TRY(b_scale, site.cast("scale_float", b_scale, DType::f32));
  if (alpha != 1) {
    WHET_TRY(scale,
             site.add("alpha", BinaryOperator{BinaryKind::mul}, {scale, site.add_scalar("by", DType::f32, alpha)}));
  }
  if (!site.has(7)) return site.give(in_floats(site, sum, scale, b_scale, site.if_given(9)));
  WHET_TRY(scale, site.add("scales", BinaryOperator{BinaryKind::mul}, {scale, b_scale}));
  WHET_TRY(ValueId y, site.add("float", CastOperator{DType::f32}, {sum}));
  WHET_TRY(y, site.add("rescaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  return give_requantized(site, y, 7);
}

/// (a, b, their scales, their zero points, a bias)
Status import_matmul_integer_to_float(OnnxSite& site) {
  WHET_TRY(const ValueId a, centred_matrix(site, 0, 4, false));
  WHET_TRY(const ValueId b, centred_matrix(site, 1, 5, true));
  WHET_TRY(const ValueId left, along_matrix(site, "a_scale", operand(site, 2), site.shape(0), false));
  WHET_TRY(const ValueId right, along_matrix(site, "b_scale", operand(site, 3), site.shape(1), true));
  WHET_TRY(const ValueId product, matmul(site, a, b));
  return site.give(in_floats(site, product, left, right, site.if_given(6)));
}

/// (a in floats, b, its scale and zero point, a bias): a is quantized by the values that it has.
Status import_dynamic_quantize_matmul(OnnxSite& site, ValueId a) {
  if (site.dtype(a) != DType::f32) return site.error("the input is " + to_string(site.type(a)) + "; expected f32");
  WHET_TRY(const ByItself by, quantization_of(site, a));
  WHET_TRY(a, site.add("divided", BinaryOperator{BinaryKind::div}, {a, by.scale}));
  WHET_TRY(a, saturated(site, a, by.zero, range_of(DType::u8)));
  WHET_TRY(a, centred(site, a, by.zero));
  WHET_TRY(const ValueId b, centred_matrix(site, 1, 3, true));
  WHET_TRY(const ValueId right, along_matrix(site, "b_scale", operand(site, 2), site.shape(1), true));
  WHET_TRY(const ValueId product, matmul(site, a, b));
  return site.give(in_floats(site, product, by.scale, right, site.if_given(4)));
}

}  // namespace

OnnxRows onnx_quantize() {
  using B = BinaryKind;
  static constexpr std::string_view kQuantize =
      "x scale zero? @axis? @precision? @output_dtype? ~saturate @block_size?";
  static constexpr std::string_view kDequantize = "x scale zero? @axis? @output_dtype? @block_size?";
  static constexpr std::string_view kBinary = "a a_scale a_zero? b b_scale b_zero? y_scale y_zero?";
  static constexpr OnnxRow kRows[] = {
      {"ConvInteger", 10, "x w x_zero? w_zero? @kernel_shape? @strides? @dilations? @pads? @auto_pad? @group?",
       calls<import_conv_integer>},
      {"DequantizeLinear", 10, kDequantize, calls<import_dequantize_linear>},
      {"DynamicQuantizeLinear", 11, "x", calls<import_dynamic_quantize_linear>},
      {"MatMulInteger", 10, "a b a_zero? b_zero?", calls<import_matmul_integer>},
      {"QLinearConv", 10,
       "=0 x x_scale x_zero w w_scale w_zero y_scale y_zero bias? @kernel_shape? @strides? @dilations? @pads? "
       "@auto_pad? @group?",
       calls<import_qlinear_conv>},
      {"QLinearMatMul", 10, "a a_scale a_zero b b_scale b_zero y_scale y_zero", calls<import_qlinear_matmul>},
      {"QuantizeLinear", 10, kQuantize, calls<import_quantize_linear>},
      {"DequantizeLinear", 1, kDequantize, calls<import_dequantize_linear>, kMicrosoft},
      {"DynamicQuantizeMatMul", 1, "a b b_scale b_zero? bias?", calls<import_dynamic_quantize_matmul>, kMicrosoft},
      {"MatMulIntegerToFloat", 1, "a b a_scale b_scale a_zero? b_zero? bias?", calls<import_matmul_integer_to_float>,
       kMicrosoft},
      {"QGemm", 1, "@transA=0 @transB=0 @alpha=1 a a_scale a_zero? b b_scale b_zero? c? y_scale? y_zero?",
       calls<import_qgemm>, kMicrosoft},
      {"QLinearAdd", 1, kBinary, calls<import_qlinear_binary<B::add>>, kMicrosoft},
      {"QLinearAveragePool", 1,
       "@channels_last=0 @count_include_pad=0 x x_scale x_zero? y_scale y_zero? @kernel_shape @strides? @dilations? "
       "@pads? @auto_pad? "
       "@ceil_mode?",
       calls<import_qlinear_average_pool>, kMicrosoft},
      {"QLinearConcat", 1, "@axis(x) y_scale y_zero? x x_scale others...?", calls<import_qlinear_concat>, kMicrosoft},
      {"QLinearConv", 1,
       "@channels_last=0 x x_scale x_zero w w_scale w_zero y_scale y_zero bias? @kernel_shape? @strides? @dilations? "
       "@pads? @auto_pad? @group?",
       calls<import_qlinear_conv>, kMicrosoft},
      {"QLinearGlobalAveragePool", 1, "@channels_last=0 x x_scale x_zero? y_scale y_zero?",
       calls<import_qlinear_global_average_pool>, kMicrosoft},
      {"QLinearLeakyRelu", 1, "@alpha=0.01 x x_scale x_zero? y_scale y_zero?", calls<import_qlinear_leaky_relu>,
       kMicrosoft},
      {"QLinearMul", 1, kBinary, calls<import_qlinear_binary<B::mul>>, kMicrosoft},
      {"QLinearSigmoid", 1, "x x_scale x_zero? y_scale y_zero?", calls<import_qlinear_sigmoid>, kMicrosoft},
      {"QLinearSoftmax", 1, "@opset=13 @axis? x x_scale x_zero? y_scale y_zero?", calls<import_qlinear_softmax>,
       kMicrosoft},
      {"QLinearWhere", 1, "condition a a_scale a_zero? b b_scale b_zero? y_scale y_zero?", calls<import_qlinear_where>,
       kMicrosoft},
      {"QuantizeLinear", 1, kQuantize, calls<import_quantize_linear>, kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
