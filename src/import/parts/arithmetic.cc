#include "import/parts/arithmetic.h"

#include <limits>

#include "base/arithmetic.h"
#include "import/parts/activation.h"

namespace whet {
namespace {

/// Integers to the power of floats, in f64 and then towards zero. A power that only its rounding keeps from being whole
/// is whole: 2^3 is 8, not 7.
Result<ValueId> power_of_integers(NodeSite& site, ValueId x, ValueId exponent) {
  if (site.dtype(exponent) != DType::f64) {
    WHET_TRY(exponent, site.add("exponent", CastOperator{DType::f64}, {exponent}));
  }
  WHET_TRY(const ValueId base, site.add("base", CastOperator{DType::f64}, {x}));
  WHET_TRY(const ValueId power, site.add("power", BinaryOperator{BinaryKind::pow}, {base, exponent}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{UnaryKind::round}, {power}));
  WHET_TRY(ValueId rest, site.add("rest", BinaryOperator{BinaryKind::sub}, {power, whole}));
  WHET_TRY(rest, site.add("distance", UnaryOperator{UnaryKind::abs}, {rest}));
  WHET_TRY(ValueId slack, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {power}));
  WHET_TRY(slack, with_number(site, "slack", BinaryKind::mul, slack, 0x1p-46));
  WHET_TRY(const ValueId near, site.add("near", BinaryOperator{BinaryKind::less_equal}, {rest, slack}));
  WHET_TRY(const ValueId y, site.add("chosen", WhereOperator{}, {near, whole, power}));
  return site.add("integer", CastOperator{site.dtype(x)}, {y});
}

/// 2 to the power of 0 .. 255 as `dtype`, in which the powers from 8 on are `beyond`.
Tensor powers(DType dtype, std::int64_t beyond) {
  Tensor table(dtype, {256});
  for (std::int64_t i = 0; i < 256; ++i) table.set_integer(i, i < 8 ? std::int64_t{1} << i : beyond);
  return table;
}

}  // namespace

Result<ValueId> with_number(NodeSite& site, const std::string& part, BinaryKind kind, ValueId x, double number) {
  const ValueId scalar = site.add_scalar(part + "_by", site.dtype(x), number);
  return site.add(part, BinaryOperator{kind}, {x, scalar});
}

Result<ValueId> chained(NodeSite& site, BinaryKind kind, const std::vector<ValueId>& values) {
  ValueId result = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) {
    WHET_TRY(result, site.add("step" + std::to_string(i), BinaryOperator{kind}, {result, values[i]}));
  }
  return result;
}

Result<ValueId> mean_of(NodeSite& site, const std::vector<ValueId>& values) {
  if (values.size() == 1) return values[0];
  WHET_TRY(const ValueId sum, chained(site, BinaryKind::add, values));
  const ValueId divisor = site.add_scalar("count", site.dtype(sum), static_cast<double>(values.size()));
  return site.add("mean", BinaryOperator{BinaryKind::div}, {sum, divisor});
}

Result<ValueId> power(NodeSite& site, ValueId base, ValueId exponent) {
  if (site.dtype(base) != site.dtype(exponent)) {
    if (!is_float(site.dtype(base)) && is_float(site.dtype(exponent))) return power_of_integers(site, base, exponent);
    WHET_TRY(exponent, site.add("exponent", CastOperator{site.dtype(base)}, {exponent}));
  }
  return site.add("power", BinaryOperator{BinaryKind::pow}, {base, exponent});
}

Result<ValueId> truncated_remainder(NodeSite& site, ValueId a, ValueId b) {
  if (is_float(site.dtype(a))) return site.add("remainder", BinaryOperator{BinaryKind::mod}, {a, b});
  // a - b * (a / b)
  WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{BinaryKind::div}, {a, b}));
  WHET_TRY(const ValueId product, site.add("product", BinaryOperator{BinaryKind::mul}, {b, quotient}));
  return site.add("remainder", BinaryOperator{BinaryKind::sub}, {a, product});
}

Result<ValueId> clipped(NodeSite& site, ValueId x, std::optional<ValueId> low, std::optional<ValueId> high) {
  const bool known = (!low || site.constant(*low) != nullptr) && (!high || site.constant(*high) != nullptr);
  if (known) {
    ClipOperator op{-kInfinity, kInfinity};
    if (low) {
      WHET_TRY(op.low, site.known_number(*low, "lower bound"));
    }
    if (high) {
      WHET_TRY(op.high, site.known_number(*high, "upper bound"));
    }
    return site.add("clipped", op, {x});
  }
  if (low) {
    WHET_TRY(x, site.add("low", BinaryOperator{BinaryKind::max}, {x, *low}));
  }
  if (!high) return x;
  return site.add("high", BinaryOperator{BinaryKind::min}, {x, *high});
}

Result<ValueId> is_infinite(NodeSite& site, ValueId x, bool negative, bool positive) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  if (!negative && !positive) {
    const ValueId no = site.add_scalar("no", DType::boolean, 0);
    return site.add("never", ExpandOperator{site.shape(x)}, {no});
  }
  const DType dtype = site.dtype(x);
  if (negative && positive) {
    WHET_TRY(x, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {x}));
  }
  const ValueId infinite = site.add_scalar("infinity", dtype, positive ? kInfinity : -kInfinity);
  return site.add("infinite", BinaryOperator{BinaryKind::equal}, {x, infinite});
}

Result<ValueId> bits_shifted(NodeSite& site, ValueId x, ValueId count, bool left) {
  if (site.dtype(x) != DType::u8 || site.dtype(count) != DType::u8) {
    return site.error("shifts " + to_string(site.type(x)) + " by " + to_string(site.type(count)) + "; expected u8");
  }
  WHET_TRY(const ValueId bits, site.add("bits", CastOperator{DType::i32}, {count}));
  if (left) {
    const ValueId table = site.add_constant("powers", powers(DType::u8, 0));
    WHET_TRY(const ValueId factor, site.add("factor", GatherOperator{0}, {table, bits}));
    return site.add("product", BinaryOperator{BinaryKind::mul}, {x, factor});
  }
  const ValueId table = site.add_constant("powers", powers(DType::i32, 256));
  WHET_TRY(const ValueId divisor, site.add("divisor", GatherOperator{0}, {table, bits}));
  WHET_TRY(const ValueId wide, site.add("wide", CastOperator{DType::i32}, {x}));
  WHET_TRY(const ValueId shifted, site.add("shifted", BinaryOperator{BinaryKind::div}, {wide, divisor}));
  return site.add("narrow", CastOperator{DType::u8}, {shifted});
}

Result<ValueId> bits_turned(NodeSite& site, ValueId x) {
  const DType dtype = site.dtype(x);
  if (is_float(dtype) || dtype == DType::boolean) {
    return site.error("the input is " + to_string(site.type(x)) + "; expected integers");
  }
  // What is missing to the number whose bits are all set.
  const ValueId ones = site.add_scalar("ones", dtype, dtype == DType::u8 ? 255 : -1);
  return site.add("turned", BinaryOperator{BinaryKind::sub}, {ones, x});
}

}  // namespace whet
