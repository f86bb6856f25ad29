#include <limits>

#include "base/arithmetic.h"
#include "import/onnx/held_types.h"
#include "import/onnx/importers.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"

namespace whet {
namespace {

/// All inputs, of which none is left out.
Result<std::vector<ValueId>> every_input(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    values.push_back(site.in(i));
  }
  return values;
}

/// Input 0 and, where there is one, the bias.
Result<ValueId> biased(OnnxSite& site) {
  if (!site.has(1)) return site.in(0);
  return site.add("biased", BinaryOperator{BinaryKind::add}, {site.in(0), site.in(1)});
}

/// How casts to 8-bit floats end, which are refused.
void ignore_small_floats(OnnxSite& site) {
  site.ignore({"saturate"});
  if (site.opset() >= 24) site.ignore({"round_mode"});
}

}  // namespace

Status import_variadic(OnnxSite& site, BinaryKind kind) {
  WHET_TRY(const std::vector<ValueId> values, every_input(site));
  return site.give(chained(site, kind, values));
}

Status import_mean(OnnxSite& site) {
  WHET_TRY(const std::vector<ValueId> values, every_input(site));
  return site.give(mean_of(site, values));
}

/// Before operator set 7 the second operand's dimensions are at those of the first from `axis` on.
Status import_aligned(OnnxSite& site, BinaryKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.opset() < 6) site.ignore({"consumed_inputs"});
  WHET_TRY(const bool broadcasts, site.flag("broadcast", false));
  const Shape a = site.shape(0);
  Shape b = site.shape(1);
  WHET_TRY(const std::int64_t axis,
           site.integer("axis", static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size())));
  const bool fits = axis >= 0 && axis + static_cast<std::int64_t>(b.size()) <= static_cast<std::int64_t>(a.size());
  if (broadcasts && fits) b.resize(a.size() - static_cast<std::size_t>(axis), 1);
  if (broadcasts ? !fits || broadcast(a, b) != a : a != b) {
    return site.error("combines " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(site.in(1))) +
                      (broadcasts ? " from axis " + std::to_string(axis) + " on; the second must fit into the first"
                                  : " without \"broadcast\"; expected equal shapes"));
  }
  ValueId second = site.in(1);
  if (b != site.shape(1)) {
    WHET_TRY(second, site.add("aligned", ReshapeOperator{b}, {second}));
  }
  return site.give(BinaryOperator{kind}, {site.in(0), second});
}

/// Before operator set 7 a list of slopes is one a channel.
Status import_prelu_channels(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.opset() < 6) site.ignore({"consumed_inputs"});
  return site.give(prelu_of_channels(site, site.in(0), site.in(1)));
}

Status import_pow(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(power(site, site.in(0), site.in(1)));
}

Status import_mod(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool fmod, site.flag("fmod", false));
  if (fmod) return site.give(truncated_remainder(site, site.in(0), site.in(1)));
  if (is_float(site.dtype(0))) {
    return site.error("attribute \"fmod\" is 0 for " + to_string(site.type(site.in(0))) + "; expected 1 for floats");
  }
  return site.give(BinaryOperator{BinaryKind::mod}, {site.in(0), site.in(1)});
}

Status import_clip_attributes(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double low, site.number("min", -kInfinity));
  WHET_TRY(const double high, site.number("max", kInfinity));
  return site.give(ClipOperator{low, high}, {site.in(0)});
}

Status import_clip(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 3));
  return site.give(clipped(site, site.in(0), site.if_given(1), site.if_given(2)));
}

Status import_hard_sigmoid(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  HardSigmoidOperator op;
  WHET_TRY(op.alpha, site.number("alpha", 0.2));
  WHET_TRY(op.beta, site.number("beta", 0.5));
  return site.give(op, {site.in(0)});
}

Status import_leaky_relu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  LeakyReluOperator op;
  WHET_TRY(op.alpha, site.number("alpha", 0.01));
  return site.give(op, {site.in(0)});
}

Status import_prelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(prelu(site, site.in(0), site.in(1)));
}

Status import_elu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  return site.give(elu(site, site.in(0), {.alpha = alpha}));
}

Status import_selu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1.6732632423543772));
  WHET_TRY(const double gamma, site.number("gamma", 1.0507009873554805));
  return site.give(elu(site, site.in(0), {.alpha = alpha, .gamma = gamma}));
}

Status import_celu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  if (alpha == 0) return site.error("attribute \"alpha\" is 0; the operator divides by it");
  return site.give(elu(site, site.in(0), {.alpha = alpha, .width = alpha}));
}

Status import_thresholded_relu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  return site.give(thresholded(site, site.in(0), alpha, 0));
}

Status import_mish(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(mish(site, site.in(0)));
}

Status import_swish(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  return site.give(swish(site, site.in(0), alpha));
}
Status import_quick_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double alpha, site.number("alpha", 1.702));
  return site.give(swish(site, site.in(0), alpha));
}

Status import_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::size_t form, site.choice("approximate", "none", {"none", "tanh"}));
  return site.give(gelu(site, site.in(0), static_cast<Gelu>(form)));
}
/// With a bias of the channels, which the second may do without.
Status import_bias_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, biased(site));
  return site.give(gelu(site, x, Gelu::erf));
}
Status import_fast_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
  WHET_TRY(const ValueId x, biased(site));
  return site.give(gelu(site, x, Gelu::tanh));
}

Status import_is_inf(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const bool negative, site.flag("detect_negative", true));
  WHET_TRY(const bool positive, site.flag("detect_positive", true));
  return site.give(is_infinite(site, site.in(0), negative, positive));
}

Status import_shrink(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double lambda, site.number("lambd", 0.5));
  WHET_TRY(const double bias, site.number("bias", 0));
  return site.give(shrunk(site, site.in(0), lambda, bias));
}

Status import_where(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(WhereOperator{}, {site.in(0), site.in(1), site.in(2)});
}

static Status give_wrapped(OnnxSite& site, std::int64_t type) {
  WHET_RETURN_IF_ERROR(site.give(wrapped(site, site.in(0), type)));
  site.mark_held_result(type);
  return ok_status();
}

Status import_cast_like(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  ignore_small_floats(site);
  const std::int64_t type = held_type(site.graph(), site.in(1));
  if (wraps(type)) return give_wrapped(site, type);
  return site.give(site.cast("cast", site.in(0), site.dtype(1)));
}

Status import_cast(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("to"));
  ignore_small_floats(site);
  WHET_TRY(const std::int64_t to, site.integer("to", 0));
  const auto dtype = dtype_of_onnx(to);
  if (!dtype) {
    return site.error("casts to " + onnx_type_name(to) +
                      "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
  }
  return wraps(to) ? give_wrapped(site, to) : site.give(site.cast("cast", site.in(0), *dtype));
}

}  // namespace whet
