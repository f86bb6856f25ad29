#include "import/onnx/importers.h"

namespace whet {
namespace {

/// A scale or zero point that broadcasts along `axis` of input 0.
Result<ValueId> along_axis(OnnxSite& site, const char* part, std::size_t i) {
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  if (site.rank(i) == 0 || num_elements(site.shape(i)) == 1) {
    return site.add(part, ReshapeOperator{Shape{}}, {site.in(i)});
  }
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  const auto d = static_cast<std::size_t>(axis);
  if (site.rank(i) != 1 || site.shape(i)[0] != site.shape(0)[d]) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) +
                      "; expected one value, or one for each of the " + std::to_string(site.shape(0)[d]) +
                      " places of axis " + std::to_string(axis) + " (blocks are not supported)");
  }
  Shape shape(site.rank(0), 1);
  shape[d] = site.shape(i)[0];
  return site.add(part, ReshapeOperator{shape}, {site.in(i)});
}

struct Range {
  double low, high;
};
Range range_of(DType dtype) {
  if (dtype == DType::i8) return {-128, 127};
  return {0, 255};
}

/// round(x / scale) + zero, kept in the range of `to`.
Status give_quantized(OnnxSite& site, ValueId scale, std::optional<ValueId> zero, DType to, std::size_t output) {
  const DType dtype = site.dtype(0);
  WHET_TRY(ValueId y, site.add("divided", BinaryOperator{BinaryKind::div}, {site.in(0), scale}));
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  if (zero) {
    WHET_TRY(const ValueId offset, site.add("zero_float", CastOperator{dtype}, {*zero}));
    WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, offset}));
  }
  const Range range = range_of(to);
  WHET_TRY(y, site.add("saturated", ClipOperator{range.low, range.high}, {y}));
  return site.give(CastOperator{to}, {y}, output);
}

}  // namespace

Status import_quantize_linear(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  site.ignore({"saturate", "block_size", "output_dtype"});
  WHET_TRY(const ValueId scale, along_axis(site, "scale", 1));
  std::optional<ValueId> zero;
  DType to = DType::u8;
  if (site.has(2)) {
    to = site.dtype(2);
    WHET_TRY(zero, along_axis(site, "zero", 2));
  }
  if (to != DType::u8 && to != DType::i8) {
    return site.error("the zero point is " + to_string(site.type(site.in(2))) + "; expected u8 or i8");
  }
  return give_quantized(site, scale, zero, to, 0);
}

Status import_dequantize_linear(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  site.ignore({"block_size"});
  WHET_TRY(const ValueId scale, along_axis(site, "scale", 1));
  const DType to = site.dtype(1);
  WHET_TRY(ValueId x, site.add("wide", CastOperator{DType::i32}, {site.in(0)}));
  if (site.has(2)) {
    WHET_TRY(ValueId zero, along_axis(site, "zero", 2));
    WHET_TRY(zero, site.add("zero_wide", CastOperator{DType::i32}, {zero}));
    WHET_TRY(x, site.add("shifted", BinaryOperator{BinaryKind::sub}, {x, zero}));
  }
  WHET_TRY(x, site.add("float", CastOperator{to}, {x}));
  return site.give(BinaryOperator{BinaryKind::mul}, {x, scale});
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
  return give_quantized(site, scale, zero, DType::u8, 0);
}

}  // namespace whet
