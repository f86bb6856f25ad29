#include "import/parts/activation.h"

#include <limits>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"

namespace whet {
namespace {

/// x where it is positive, else x * slope.
Result<ValueId> sloped(NodeSite& site, ValueId x, ValueId slope) {
  WHET_TRY(const ValueId positive, site.add("positive", UnaryOperator{UnaryKind::relu}, {x}));
  WHET_TRY(const ValueId negative, site.add("negative", ClipOperator{-kInfinity, 0}, {x}));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {negative, slope}));
  return site.add("prelu", BinaryOperator{BinaryKind::add}, {positive, scaled});
}

}  // namespace

Status expect_floats(const NodeSite& site, ValueId x) {
  if (is_float(site.dtype(x))) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + "; expected f32, f64 or f16");
}

Result<ValueId> gelu(NodeSite& site, ValueId x, Gelu form) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  ValueId inner;
  if (form == Gelu::erf) {
    WHET_TRY(inner, with_number(site, "divided", BinaryKind::div, x, 1.4142135623730951));
    WHET_TRY(inner, site.add("erf", UnaryOperator{UnaryKind::erf}, {inner}));
  } else {
    WHET_TRY(inner, with_number(site, "cube", BinaryKind::pow, x, 3));
    WHET_TRY(inner, with_number(site, "small", BinaryKind::mul, inner, 0.044715));
    WHET_TRY(inner, site.add("sum", BinaryOperator{BinaryKind::add}, {x, inner}));
    WHET_TRY(inner, with_number(site, "scaled", BinaryKind::mul, inner, 0.7978845608028654));
    WHET_TRY(inner, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {inner}));
  }
  WHET_TRY(inner, with_number(site, "gate", BinaryKind::add, inner, 1));
  WHET_TRY(inner, site.add("gated", BinaryOperator{BinaryKind::mul}, {x, inner}));
  return site.add("gelu", BinaryOperator{BinaryKind::mul}, {inner, site.add_scalar("half", site.dtype(x), 0.5)});
}

Result<ValueId> elu(NodeSite& site, ValueId x, const Elu& form) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  WHET_TRY(const ValueId positive, site.add("positive", UnaryOperator{UnaryKind::relu}, {x}));
  WHET_TRY(ValueId y, site.add("negative", ClipOperator{-kInfinity, 0}, {x}));
  if (form.width != 1) {
    WHET_TRY(y, with_number(site, "narrowed", BinaryKind::div, y, form.width));
  }
  WHET_TRY(y, expm1_of_negative(site, y));
  WHET_TRY(y, with_number(site, "scaled", BinaryKind::mul, y, form.alpha));
  WHET_TRY(y, site.add("sum", BinaryOperator{BinaryKind::add}, {positive, y}));
  if (form.gamma == 1) return y;
  return site.add("elu", BinaryOperator{BinaryKind::mul}, {y, site.add_scalar("gamma", site.dtype(x), form.gamma)});
}

Result<ValueId> swish(NodeSite& site, ValueId x, double alpha) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  ValueId inner = x;
  if (alpha != 1) {
    const ValueId factor = site.add_scalar("alpha", site.dtype(x), alpha);
    WHET_TRY(inner, site.add("scaled", BinaryOperator{BinaryKind::mul}, {inner, factor}));
  }
  WHET_TRY(const ValueId gate, site.add("gate", UnaryOperator{UnaryKind::sigmoid}, {inner}));
  return site.add("swish", BinaryOperator{BinaryKind::mul}, {x, gate});
}

Result<ValueId> mish(NodeSite& site, ValueId x) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  WHET_TRY(const ValueId soft, site.add("softplus", UnaryOperator{UnaryKind::softplus}, {x}));
  WHET_TRY(const ValueId gate, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {soft}));
  return site.add("mish", BinaryOperator{BinaryKind::mul}, {x, gate});
}

Result<ValueId> prelu(NodeSite& site, ValueId x, ValueId slope) {
  if (broadcast(site.shape(x), site.shape(slope)) == site.shape(x)) return sloped(site, x, slope);
  return site.error("the slope is " + to_string(site.type(slope)) + "; it must broadcast to " +
                    to_string(site.type(x)));
}

Result<ValueId> prelu_of_channels(NodeSite& site, ValueId x, ValueId slopes) {
  const Shape shape = site.shape(x), list = site.shape(slopes);
  const bool one = num_elements(list) == 1;
  if (!one && (shape.size() < 2 || list != Shape{shape[1]})) {
    return site.error("the slope is " + to_string(site.type(slopes)) + "; expected one a channel of " +
                      to_string(site.type(x)));
  }
  Shape column(one ? 0 : shape.size() - 1, 1);
  if (!one) column[0] = shape[1];
  WHET_TRY(const ValueId slope, site.add("slope", ReshapeOperator{column}, {slopes}));
  return sloped(site, x, slope);
}

Result<ValueId> thresholded(NodeSite& site, ValueId x, double threshold, double rest) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  const DType dtype = site.dtype(x);
  const ValueId bound = site.add_scalar("alpha", dtype, threshold), other = site.add_scalar("zero", dtype, rest);
  WHET_TRY(const ValueId above, site.add("above", BinaryOperator{BinaryKind::greater}, {x, bound}));
  return site.add("thresholded", WhereOperator{}, {above, x, other});
}

Result<ValueId> shrunk(NodeSite& site, ValueId x, double lambda, double bias) {
  const DType dtype = site.dtype(x);
  const ValueId low = site.add_scalar("low", dtype, -lambda), high = site.add_scalar("high", dtype, lambda);
  const ValueId zero = site.add_scalar("zero", dtype, 0);
  WHET_TRY(const ValueId below, site.add("below", BinaryOperator{BinaryKind::less}, {x, low}));
  WHET_TRY(const ValueId above, site.add("above", BinaryOperator{BinaryKind::greater}, {x, high}));
  WHET_TRY(const ValueId raised, with_number(site, "raised", BinaryKind::add, x, bias));
  WHET_TRY(const ValueId lowered, with_number(site, "lowered", BinaryKind::sub, x, bias));
  WHET_TRY(const ValueId upper, site.add("upper", WhereOperator{}, {above, lowered, zero}));
  return site.add("shrunk", WhereOperator{}, {below, raised, upper});
}

}  // namespace whet
