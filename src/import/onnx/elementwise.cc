#include <cmath>
#include <limits>

#include "import/onnx/importers.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// a ∘ b ∘ c ∘ ...; one input alone is the result.
Result<ValueId> chain(OnnxSite& site, BinaryKind kind, std::size_t count) {
  ValueId result = site.in(0);
  for (std::size_t i = 1; i < count; ++i) {
    WHET_TRY(result, site.add("step" + std::to_string(i), BinaryOperator{kind}, {result, site.in(i)}));
  }
  return result;
}

/// A bound of Clip: open when it is left out.
Result<double> bound(OnnxSite& site, std::size_t i, const char* what, double open) {
  if (!site.has(i)) return open;
  return site.known_number(i, what);
}

}  // namespace

Status import_variadic(OnnxSite& site, BinaryKind kind) {
  const std::size_t count = site.input_count();
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  for (std::size_t i = 0; i < count; ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
  }
  if (count == 1) return site.give(site.in(0));
  WHET_TRY(const ValueId head, chain(site, kind, count - 1));
  return site.give(BinaryOperator{kind}, {head, site.in(count - 1)});
}

Status import_mean(OnnxSite& site) {
  const std::size_t count = site.input_count();
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  for (std::size_t i = 0; i < count; ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
  }
  if (count == 1) return site.give(site.in(0));
  WHET_TRY(const ValueId sum, chain(site, BinaryKind::add, count));
  const ValueId divisor = site.add_scalar("count", site.type(sum).dtype, static_cast<double>(count));
  return site.give(BinaryOperator{BinaryKind::div}, {sum, divisor});
}

Status import_pow(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  ValueId exponent = site.in(1);
  if (site.dtype(0) != site.dtype(1)) {
    // The result has the base's type; a fractional exponent of an integer is nobody's meaning.
    if (!is_float(site.dtype(0)) && is_float(site.dtype(1))) {
      return site.error("raises " + to_string(site.type(site.in(0))) + " to " + to_string(site.type(site.in(1))) +
                        "; expected one type");
    }
    WHET_TRY(exponent, site.add("exponent", CastOperator{site.dtype(0)}, {exponent}));
  }
  return site.give(BinaryOperator{BinaryKind::pow}, {site.in(0), exponent});
}

Status import_mod(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool fmod, site.flag("fmod", false));
  if (fmod != is_float(site.dtype(0))) {
    return site.error("attribute \"fmod\" is " + std::to_string(fmod) + " for " + to_string(site.type(site.in(0))) +
                      "; supported are 1 for floats and 0 for integers");
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
  const bool known = (!site.has(1) || site.constant(1) != nullptr) && (!site.has(2) || site.constant(2) != nullptr);
  if (known) {
    WHET_TRY(const double low, bound(site, 1, "lower bound", -kInfinity));
    WHET_TRY(const double high, bound(site, 2, "upper bound", kInfinity));
    return site.give(ClipOperator{low, high}, {site.in(0)});
  }
  ValueId x = site.in(0);
  if (site.has(1) && site.has(2)) {
    WHET_TRY(x, site.add("low", BinaryOperator{BinaryKind::max}, {x, site.in(1)}));
  }
  const bool upper = site.has(2);
  return site.give(BinaryOperator{upper ? BinaryKind::min : BinaryKind::max}, {x, site.in(upper ? 2 : 1)});
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

/// max(x, 0) + slope * min(x, 0)
Status import_prelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId positive, site.add("positive", UnaryOperator{UnaryKind::relu}, {site.in(0)}));
  WHET_TRY(const ValueId negative, site.add("negative", ClipOperator{-kInfinity, 0}, {site.in(0)}));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {negative, site.in(1)}));
  return site.give(BinaryOperator{BinaryKind::add}, {positive, scaled});
}

Status import_where(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(WhereOperator{}, {site.in(0), site.in(1), site.in(2)});
}

Status import_cast(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("to"));
  site.ignore({"saturate"});  // of 8-bit floats, which are refused below
  WHET_TRY(const std::int64_t to, site.integer("to", 0));
  const auto dtype = dtype_of_onnx(to);
  if (!dtype) {
    return site.error("casts to " + onnx_type_name(to) +
                      "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
  }
  if (*dtype == site.dtype(0)) return site.give(site.in(0));
  return site.give(CastOperator{*dtype}, {site.in(0)});
}

}  // namespace whet
