#include "import/parts/quantize.h"

#include <cmath>
#include <vector>

#include "import/parts/shape.h"

namespace whet {
namespace {

Result<ValueId> rounded(NodeSite& site, ValueId y, std::optional<ValueId> zero, DType to, const QuantizedRange& range) {
  WHET_TRY(y, saturated(site, y, zero, range));
  return site.add("quantized", CastOperator{to}, {y});
}

}  // namespace

QuantizedRange range_of(DType dtype) {
  if (dtype == DType::i8) return {-128, 127};
  if (dtype == DType::i32 || dtype == DType::i16) return {-32768, 32767};
  return {0, 255};
}

bool is_quantized(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

Result<ValueId> of_all(NodeSite& site, const char* part, const Operand& x) {
  if (num_elements(site.shape(x.value)) == 1) return site.add(part, ReshapeOperator{Shape{}}, {x.value});
  return site.error(x.what + " is " + to_string(site.type(x.value)) + "; expected one value");
}

Result<ValueId> along(NodeSite& site, const char* part, const Operand& own, const Shape& x, std::size_t d) {
  const Shape list = site.shape(own.value);
  if (num_elements(list) == 1) return of_all(site, part, own);
  if (list.size() != 1 || list[0] != x[d]) {
    return site.error(own.what + " is " + to_string(site.type(own.value)) +
                      "; expected one value, or one for each of the " + std::to_string(x[d]) + " places of axis " +
                      std::to_string(d));
  }
  return site.add(part, ReshapeOperator{shape_along(d, x.size(), x[d])}, {own.value});
}

Result<ValueId> along_matrix(NodeSite& site, const char* part, const Operand& scale, const Shape& x, bool columns) {
  const Shape own = site.shape(scale.value);
  if (x.size() < 2 || own.empty()) return of_all(site, part, scale);
  const std::size_t place = columns ? x.size() - 1 : x.size() - 2, other = columns ? x.size() - 2 : x.size() - 1;
  const bool whole = own.size() == x.size() && own[other] == 1 && own[place] == x[place] && broadcast(own, x) == x;
  return whole ? scale.value : along(site, part, scale, x, place);
}

Result<ValueId> centred(NodeSite& site, ValueId x, std::optional<ValueId> zero) {
  WHET_TRY(x, site.add("wide", CastOperator{DType::i32}, {x}));
  if (!zero) return x;
  WHET_TRY(const ValueId zero_wide, site.add("zero_wide", CastOperator{DType::i32}, {*zero}));
  return site.add("shifted", BinaryOperator{BinaryKind::sub}, {x, zero_wide});
}

Result<ValueId> saturated(NodeSite& site, ValueId y, std::optional<ValueId> zero, const QuantizedRange& range) {
  const DType dtype = site.dtype(y);
  WHET_TRY(y, site.add("rounded", UnaryOperator{UnaryKind::round}, {y}));
  if (zero) {
    WHET_TRY(const ValueId offset, site.add("zero_float", CastOperator{dtype}, {*zero}));
    WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, offset}));
  }
  return site.add("saturated", ClipOperator{range.low, range.high}, {y});
}

Result<ValueId> quantized(NodeSite& site, ValueId x, ValueId scale, std::optional<ValueId> zero, DType to,
                          const std::optional<QuantizedRange>& range) {
  WHET_TRY(const ValueId y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, scale}));
  return rounded(site, y, zero, to, range.value_or(range_of(to)));
}

Result<ValueId> dequantized(NodeSite& site, ValueId x, ValueId scale, std::optional<ValueId> zero, DType to) {
  const DType own = site.dtype(scale), compute = size_of(to) > size_of(own) ? to : own;
  WHET_TRY(scale, site.cast("scale_cast", scale, compute));
  WHET_TRY(x, centred(site, x, zero));
  WHET_TRY(x, site.cast("float", x, compute));
  WHET_TRY(x, site.add("product", BinaryOperator{BinaryKind::mul}, {x, scale}));
  return site.cast("dequantized", x, to);
}

FakeQuantization fake_quantization(double least, double most, std::int64_t bits, bool narrow) {
  const double first = narrow ? 1 : 0, last = static_cast<double>((std::int64_t{1} << bits) - 1);
  FakeQuantization form;
  form.scale = (most - least) / (last - first);
  if (form.scale == 0) return form;
  const double place = first - least / form.scale;
  const double zero = place < first ? first : place > last ? last : std::floor(place + 0.5);
  form.low = (first - zero) * form.scale;
  form.high = (last - zero) * form.scale;
  return form;
}

Result<ValueId> fake_quantized(NodeSite& site, ValueId x, const std::vector<FakeQuantization>& forms) {
  const auto constant = [&](const char* part, double FakeQuantization::* field) {
    std::vector<double> values;
    for (const FakeQuantization& form : forms) values.push_back(form.*field);
    const Shape shape = forms.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(forms.size())};
    return site.add_constant(part, Tensor::of<double>(DType::f32, shape, values));
  };
  const ValueId low = constant("low", &FakeQuantization::low), high = constant("high", &FakeQuantization::high);
  const ValueId scale = constant("scale", &FakeQuantization::scale);
  WHET_TRY(ValueId y, site.add("above", BinaryOperator{BinaryKind::max}, {x, low}));
  WHET_TRY(y, site.add("kept", BinaryOperator{BinaryKind::min}, {y, high}));
  WHET_TRY(y, site.add("moved", BinaryOperator{BinaryKind::sub}, {y, low}));
  WHET_TRY(y, site.add("steps", BinaryOperator{BinaryKind::div}, {y, scale}));
  WHET_TRY(y, with_number(site, "half", BinaryKind::add, y, 0.5));
  WHET_TRY(y, site.add("whole", UnaryOperator{UnaryKind::floor}, {y}));
  WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  return site.add("back", BinaryOperator{BinaryKind::add}, {y, low});
}

Result<ByItself> quantization_of(NodeSite& site, ValueId x) {
  const DType dtype = site.type(x).dtype;
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < site.type(x).shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  const ValueId none = site.add_scalar("none", dtype, 0);
  WHET_TRY(ValueId top, site.add("top", ReduceOperator{ReduceKind::max, axes, false}, {x}));
  WHET_TRY(ValueId bottom, site.add("bottom", ReduceOperator{ReduceKind::min, axes, false}, {x}));
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
  return ByItself{scale, zero};
}

Result<ValueId> rescaled(NodeSite& site, ValueId sum, const Scales& scales, std::optional<ValueId> zero, DType to) {
  WHET_TRY(const ValueId left, site.cast("scale_float", scales.left, DType::f32));
  WHET_TRY(const ValueId right, site.cast("scale_float", scales.right, DType::f32));
  WHET_TRY(const ValueId result, site.cast("scale_float", scales.result, DType::f32));
  WHET_TRY(ValueId scale, site.add("scales", BinaryOperator{BinaryKind::mul}, {left, right}));
  WHET_TRY(scale, site.add("rescale", BinaryOperator{BinaryKind::div}, {scale, result}));
  WHET_TRY(ValueId y, site.add("float", CastOperator{DType::f32}, {sum}));
  WHET_TRY(y, site.add("rescaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  return rounded(site, y, zero, to, range_of(to));
}

Result<ValueId> in_floats(NodeSite& site, ValueId sum, ValueId left, ValueId right, std::optional<ValueId> bias) {
  WHET_TRY(const ValueId scale, site.add("scales", BinaryOperator{BinaryKind::mul}, {left, right}));
  WHET_TRY(ValueId y, site.add("float", CastOperator{DType::f32}, {sum}));
  WHET_TRY(y, site.add("rescaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  if (!bias) return y;
  return site.add("biased", BinaryOperator{BinaryKind::add}, {y, *bias});
}

}  // namespace whet
