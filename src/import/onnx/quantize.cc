#include "import/onnx/importers.h"
#include "import/onnx/matrix.h"
#include "import/onnx/window.h"

namespace whet {
namespace {

/// Input `i`, a scale or zero point of a whole tensor.
Result<ValueId> of_all(OnnxSite& site, const char* part, std::size_t i) {
  if (num_elements(site.shape(i)) == 1) return site.add(part, ReshapeOperator{Shape{}}, {site.in(i)});
  return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected one value");
}

/// Input `i`, a scale or zero point of one value, or of one for each place of dimension `d` of `x`, so that it
/// broadcasts to x.
Result<ValueId> along(OnnxSite& site, const char* part, std::size_t i, const Shape& x, std::size_t d) {
  if (num_elements(site.shape(i)) == 1) return of_all(site, part, i);
  if (site.rank(i) != 1 || site.shape(i)[0] != x[d]) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) +
                      "; expected one value, or one for each of the " + std::to_string(x[d]) + " places of axis " +
                      std::to_string(d));
  }
  Shape shape(x.size(), 1);
  shape[d] = x[d];
  return site.add(part, ReshapeOperator{shape}, {site.in(i)});
}

/// The same along the attribute's axis of input 0.
Result<ValueId> along_axis(OnnxSite& site, const char* part, std::size_t i) {
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  if (num_elements(site.shape(i)) == 1) return of_all(site, part, i);
  if (site.rank(i) > 1) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) +
                      "; blocks are not supported");
  }
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  return along(site, part, i, site.shape(0), static_cast<std::size_t>(axis));
}

/// x - zero in i32, in which sums of such products are exact.
Result<ValueId> centred(OnnxSite& site, ValueId x, std::optional<ValueId> zero) {
  WHET_TRY(x, site.add("wide", CastOperator{DType::i32}, {x}));
  if (!zero) return x;
  WHET_TRY(const ValueId zero_wide, site.add("zero_wide", CastOperator{DType::i32}, {*zero}));
  return site.add("shifted", BinaryOperator{BinaryKind::sub}, {x, zero_wide});
}

struct Range {
  double low, high;
};
Range range_of(DType dtype) {
  if (dtype == DType::i8) return {-128, 127};
  return {0, 255};
}

/// round(y) + zero, kept in the range of `to`.
Status give_rounded(OnnxSite& site, ValueId y, std::optional<ValueId> zero, DType to, std::size_t output) {
  const DType dtype = site.type(y).dtype;
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  if (zero) {
    WHET_TRY(const ValueId offset, site.add("zero_float", CastOperator{dtype}, {*zero}));
    WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, offset}));
  }
  const Range range = range_of(to);
  WHET_TRY(y, site.add("saturated", ClipOperator{range.low, range.high}, {y}));
  return site.give(CastOperator{to}, {y}, output);
}

/// round(x / scale) + zero
Status give_quantized(OnnxSite& site, ValueId x, ValueId scale, std::optional<ValueId> zero, DType to) {
  WHET_TRY(const ValueId y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, scale}));
  return give_rounded(site, y, zero, to, 0);
}

/// The type that an attribute names by the standard's number; 0, too, leaves it to the inputs.
Result<DType> type_attribute(OnnxSite& site, const char* attribute, DType fallback) {
  WHET_TRY(const std::int64_t number, site.integer(attribute, 0));
  if (number == 0) return fallback;
  if (const auto dtype = dtype_of_onnx(number)) return *dtype;
  return site.error("attribute \"" + std::string(attribute) + "\" is " + onnx_type_name(number) +
                    "; this type is not supported");
}

bool is_quantized(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

/// Input `i` is quantized, and its zero point `zero`, where there is one, is of its type.
Status expect_quantized(OnnxSite& site, std::size_t i, std::size_t zero) {
  if (!is_quantized(site.dtype(i))) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected u8 or i8");
  }
  if (!site.has(zero) || site.dtype(zero) == site.dtype(i)) return ok_status();
  return site.error("input " + std::to_string(zero) + " is " + to_string(site.type(site.in(zero))) + " beside " +
                    to_string(site.type(site.in(i))));
}

/// Input `i`, a scale or zero point of one value or of one for each row (column) of the matrices `x`.
Result<ValueId> along_matrix(OnnxSite& site, const char* part, std::size_t i, const Shape& x, bool columns) {
  const Shape own = site.shape(i);
  if (x.size() < 2 || own.empty()) return of_all(site, part, i);
  const std::size_t place = columns ? x.size() - 1 : x.size() - 2, other = columns ? x.size() - 2 : x.size() - 1;
  const bool whole = own.size() == x.size() && own[other] == 1 && own[place] == x[place] && broadcast(own, x) == x;
  return whole ? site.in(i) : along(site, part, i, x, place);
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
  return centred_input(site, i, zero, [&] { return along_matrix(site, "zero", zero, site.shape(i), columns); });
}

/// With one zero point, or one for each output channel.
Result<ValueId> centred_weights(OnnxSite& site, std::size_t i, std::size_t zero) {
  return centred_input(site, i, zero, [&] { return along(site, "zero", zero, site.shape(i), 0); });
}

/// What stands around the image is 0 after its zero point is taken away, and so the zero point.
Result<ValueId> centred_image(OnnxSite& site, std::size_t zero) {
  return centred_input(site, 0, zero, [&] { return of_all(site, "zero", zero); });
}

/// A sum of products brought from the scales of its factors to that of the result; `scales` broadcast to it.
struct Scales {
  ValueId left, right, result;
};
Status give_rescaled(OnnxSite& site, ValueId sum, const Scales& scales, std::size_t zero_input, ValueId zero) {
  const DType to = site.dtype(zero_input);
  if (!is_quantized(to)) {
    return site.error("the zero point is " + to_string(site.type(site.in(zero_input))) + "; expected u8 or i8");
  }
  WHET_TRY(const ValueId left, site.cast("scale_float", scales.left, DType::f32));
  WHET_TRY(const ValueId right, site.cast("scale_float", scales.right, DType::f32));
  WHET_TRY(const ValueId result, site.cast("scale_float", scales.result, DType::f32));
  WHET_TRY(ValueId scale, site.add("scales", BinaryOperator{BinaryKind::mul}, {left, right}));
  WHET_TRY(scale, site.add("rescale", BinaryOperator{BinaryKind::div}, {scale, result}));
  WHET_TRY(ValueId y, site.add("float", CastOperator{DType::f32}, {sum}));
  WHET_TRY(y, site.add("rescaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  return give_rounded(site, y, zero, to, 0);
}

}  // namespace

/// x / scale in the type that "precision" names, else in that of the scale; to u8 or i8, as "output_dtype" or the zero
/// point says.
Status import_quantize_linear(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  site.ignore({"saturate", "block_size"});
  WHET_TRY(ValueId scale, along_axis(site, "scale", 1));
  WHET_TRY(const DType compute, type_attribute(site, "precision", site.dtype(1)));
  WHET_TRY(const DType to, type_attribute(site, "output_dtype", site.has(2) ? site.dtype(2) : DType::u8));
  std::optional<ValueId> zero;
  if (site.has(2)) {
    WHET_TRY(zero, along_axis(site, "zero", 2));
  }
  if (!is_float(compute)) return site.error("divides by " + to_string(site.type(site.in(1))) + "; expected floats");
  if (!is_quantized(to) || (site.has(2) && site.dtype(2) != to)) {
    return site.error("quantizes to " + std::string(name_of(to)) + " with " +
                      (site.has(2) ? "the zero point " + to_string(site.type(site.in(2))) : "no zero point") +
                      "; expected u8 or i8 for both");
  }
  WHET_TRY(scale, site.cast("scale_cast", scale, compute));
  WHET_TRY(const ValueId x, site.cast("cast", site.in(0), compute));
  return give_quantized(site, x, scale, zero, to);
}

Status import_dequantize_linear(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  site.ignore({"block_size"});
  WHET_TRY(ValueId scale, along_axis(site, "scale", 1));
  WHET_TRY(const DType to, type_attribute(site, "output_dtype", site.dtype(1)));
  if (!is_float(to)) return site.error("gives " + std::string(name_of(to)) + "; expected floats");
  std::optional<ValueId> zero;
  if (site.has(2)) {
    WHET_TRY(zero, along_axis(site, "zero", 2));
  }
  const DType compute = size_of(to) > size_of(site.dtype(1)) ? to : site.dtype(1);
  WHET_TRY(scale, site.cast("scale_cast", scale, compute));
  WHET_TRY(ValueId x, centred(site, site.in(0), zero));
  WHET_TRY(x, site.cast("float", x, compute));
  if (to == compute) return site.give(BinaryOperator{BinaryKind::mul}, {x, scale});
  WHET_TRY(x, site.add("product", BinaryOperator{BinaryKind::mul}, {x, scale}));
  return site.give(CastOperator{to}, {x});
}

/// To u8, with the scale and the zero point that the values themselves ask for.
Status import_dynamic_quantize_linear(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const DType dtype = site.dtype(0);
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < site.rank(0); ++d) axes.push_back(static_cast<std::int64_t>(d));
  const ValueId none = site.add_scalar("none", dtype, 0);
  WHET_TRY(ValueId top, site.add("top", ReduceOperator{ReduceKind::max, axes, false}, {site.in(0)}));
  WHET_TRY(ValueId bottom, site.add("bottom", ReduceOperator{ReduceKind::min, axes, false}, {site.in(0)}));
  WHET_TRY(top, site.add("top_positive", BinaryOperator{BinaryKind::max}, {top, none}));
  WHET_TRY(bottom, site.add("bottom_negative", BinaryOperator{BinaryKind::min}, {bottom, none}));
  WHET_TRY(const ValueId span, site.add("span", BinaryOperator{BinaryKind::sub}, {top, bottom}));
  const ValueId steps = site.add_scalar("steps", dtype, 255);
  WHET_TRY(const ValueId scale, site.add("scale", BinaryOperator{BinaryKind::div}, {span, steps}));
  WHET_TRY(ValueId zero, site.add("zero_exact", BinaryOperator{BinaryKind::div}, {bottom, scale}));
  WHET_TRY(zero, site.add("zero_positive", UnaryOperator{UnaryKind::neg}, {zero}));
  WHET_TRY(zero, site.add("zero_saturated", ClipOperator{0, 255}, {zero}));
  WHET_TRY(zero, site.add("zero_rounded", UnaryOperator{UnaryKind::round}, {zero}));
  WHET_TRY(zero, site.add("zero", CastOperator{DType::u8}, {zero}));
  WHET_RETURN_IF_ERROR(site.give(scale, 1));
  WHET_RETURN_IF_ERROR(site.give(zero, 2));
  return give_quantized(site, site.in(0), scale, zero, DType::u8);
}

Status import_matmul_integer(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 4));
  WHET_TRY(const ValueId a, centred_matrix(site, 0, 2, false));
  WHET_TRY(const ValueId b, centred_matrix(site, 1, 3, true));
  WHET_TRY(const ValueId product, add_matmul(site, a, b));
  return site.give(product);
}

Status import_conv_integer(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 4));
  WHET_TRY(const ConvOperator op, read_conv(site, 1));
  WHET_TRY(const ValueId x, centred_image(site, 2));
  WHET_TRY(const ValueId w, centred_weights(site, 1, 3));
  return site.give(op, {x, w});
}

/// (a, its scale and zero point, b, the same two, the result's scale and zero point)
Status import_qlinear_matmul(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(8));
  WHET_TRY(const ValueId a, centred_matrix(site, 0, 2, false));
  WHET_TRY(const ValueId b, centred_matrix(site, 3, 5, true));
  Scales scales;
  WHET_TRY(scales.left, along_matrix(site, "a_scale", 1, site.shape(0), false));
  WHET_TRY(scales.right, along_matrix(site, "b_scale", 4, site.shape(3), true));
  WHET_TRY(const ValueId product, add_matmul(site, a, b));
  const Shape y = site.type(product).shape;
  WHET_TRY(scales.result, along_matrix(site, "y_scale", 6, y, false));
  WHET_TRY(const ValueId zero, along_matrix(site, "y_zero", 7, y, false));
  return give_rescaled(site, product, scales, 7, zero);
}

/// (x, its scale and zero point, w, the same two, the result's scale and zero point, a bias of the sums' scale)
Status import_qlinear_conv(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(8, 9));
  WHET_TRY(const ConvOperator op, read_conv(site, 3));
  WHET_TRY(const ValueId x, centred_image(site, 2));
  WHET_TRY(const ValueId w, centred_weights(site, 3, 5));
  std::vector<ValueId> inputs = {x, w};
  if (site.has(8)) inputs.push_back(site.in(8));
  WHET_TRY(const ValueId sum, site.add("conv", op, inputs));
  Scales scales;
  WHET_TRY(scales.left, of_all(site, "x_scale", 1));
  WHET_TRY(scales.right, along(site, "w_scale", 4, site.type(sum).shape, 1));
  WHET_TRY(scales.result, of_all(site, "y_scale", 6));
  WHET_TRY(const ValueId zero, of_all(site, "y_zero", 7));
  return give_rescaled(site, sum, scales, 7, zero);
}

}  // namespace whet
