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

Result<ValueId> floored_remainder(NodeSite& site, ValueId a, ValueId b) {
  if (!is_float(site.dtype(a))) return site.add("rest", BinaryOperator{BinaryKind::mod}, {a, b});
  WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{BinaryKind::div}, {a, b}));
  WHET_TRY(const ValueId times, site.add("times", UnaryOperator{UnaryKind::floor}, {quotient}));
  WHET_TRY(const ValueId even, site.add("even", BinaryOperator{BinaryKind::mul}, {times, b}));
  return site.add("rest", BinaryOperator{BinaryKind::sub}, {a, even});
}

/// |x| + 0.5 would itself be rounded: the part behind the point is exact.
Result<ValueId> rounded_away(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{UnaryKind::sign}, {x}));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{UnaryKind::abs}, {x}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{UnaryKind::floor}, {size}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{BinaryKind::sub}, {size, whole}));
  WHET_TRY(ValueId up, with_number(site, "is_half", BinaryKind::greater_equal, rest, 0.5));
  WHET_TRY(up, site.cast("up", up, site.dtype(x)));
  WHET_TRY(const ValueId nearest, site.add("nearest", BinaryOperator{BinaryKind::add}, {whole, up}));
  return site.add("rounded", BinaryOperator{BinaryKind::mul}, {sign, nearest});
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

namespace {

/// Below 0, or -0, whose reciprocal is.
Result<ValueId> has_minus(NodeSite& site, const std::string& part, ValueId x) {
  WHET_TRY(const ValueId below, with_number(site, part + "_below", BinaryKind::less, x, 0));
  WHET_TRY(const ValueId inverse, site.add(part + "_inverse", UnaryOperator{UnaryKind::reciprocal}, {x}));
  WHET_TRY(const ValueId zero, with_number(site, part + "_zero", BinaryKind::less, inverse, 0));
  return site.add(part + "_minus", BinaryOperator{BinaryKind::logical_or}, {below, zero});
}

}  // namespace

/// atan(y / x), moved by half a circle where x has a minus; where x is 0 the quotient's infinity does.
Result<ValueId> angle_of(NodeSite& site, ValueId y, ValueId x) {
  const DType dtype = site.dtype(x);
  constexpr double kPi = 3.14159265358979323846;
  WHET_TRY(ValueId quotient, site.add("quotient", BinaryOperator{BinaryKind::div}, {y, x}));
  // At the origin the quotient is no number; the angle is 0 before it is moved.
  WHET_TRY(const ValueId still_y, with_number(site, "still_y", BinaryKind::equal, y, 0));
  WHET_TRY(const ValueId still_x, with_number(site, "still_x", BinaryKind::equal, x, 0));
  WHET_TRY(const ValueId origin, site.add("origin", BinaryOperator{BinaryKind::logical_and}, {still_y, still_x}));
  WHET_TRY(quotient, site.add("slope", WhereOperator{}, {origin, site.add_scalar("none", dtype, 0), quotient}));
  WHET_TRY(const ValueId angle, site.add("angle", UnaryOperator{UnaryKind::atan}, {quotient}));
  WHET_TRY(const ValueId left, has_minus(site, "x", x));
  WHET_TRY(const ValueId below, has_minus(site, "y", y));
  WHET_TRY(const ValueId turn,
           site.add("turn", WhereOperator{},
                    {below, site.add_scalar("minus_pi", dtype, -kPi), site.add_scalar("pi", dtype, kPi)}));
  WHET_TRY(const ValueId turned, site.add("turned", BinaryOperator{BinaryKind::add}, {angle, turn}));
  return site.add("atan2", WhereOperator{}, {left, turned, angle});
}

Result<ValueId> bit_shift(NodeSite& site, ValueId x, ValueId count, bool left) {
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

Result<ValueId> bitwise_not(NodeSite& site, ValueId x) {
  const DType dtype = site.dtype(x);
  if (is_float(dtype) || dtype == DType::boolean) {
    return site.error("the input is " + to_string(site.type(x)) + "; expected integers");
  }
  // What is missing to the number whose bits are all set.
  const ValueId ones = site.add_scalar("ones", dtype, dtype == DType::u8 ? 255 : -1);
  return site.add("turned", BinaryOperator{BinaryKind::sub}, {ones, x});
}

namespace {

constexpr std::int64_t kWord = std::int64_t{1} << 32;

/// i64 `a` and `b` modulo 2^32, bit by bit; 0 .. 2^32 - 1. The bits are a dimension of their own while they are combined.
Result<ValueId> words_combined(NodeSite& site, BinaryKind kind, ValueId a, ValueId b) {
  Tensor modulus(DType::i64, {32}), weight(DType::i64, {32});
  for (std::int64_t k = 0; k < 32; ++k) {
    modulus.set_integer(k, std::int64_t{2} << k);
    weight.set_integer(k, std::int64_t{1} << k);
  }
  const ValueId moduli = site.add_constant("moduli", modulus), weights = site.add_constant("weights", weight);
  const auto bits = [&](ValueId x) -> Result<ValueId> {
    Shape deep = site.shape(x);
    deep.push_back(1);
    WHET_TRY(x, site.add("deep", ReshapeOperator{deep}, {x}));
    WHET_TRY(x, site.add("rest", BinaryOperator{BinaryKind::mod}, {x, moduli}));
    return site.add("bits", BinaryOperator{BinaryKind::greater_equal}, {x, weights});
  };
  WHET_TRY(const ValueId left, bits(a));
  WHET_TRY(const ValueId right, bits(b));
  WHET_TRY(ValueId both, site.add("both", BinaryOperator{kind}, {left, right}));
  WHET_TRY(both, site.add("ones", CastOperator{DType::i64}, {both}));
  WHET_TRY(both, site.add("weighted", BinaryOperator{BinaryKind::mul}, {both, weights}));
  const auto last = static_cast<std::int64_t>(site.rank(both)) - 1;
  return site.add("word", ReduceOperator{ReduceKind::sum, {last}, false}, {both});
}

/// 0 .. 2^32 - 1 as the signed number of the same bits.
Result<ValueId> as_signed_word(NodeSite& site, ValueId word) {
  Tensor half(DType::i64, {}), whole(DType::i64, {});
  half.set_integer(0, kWord / 2);
  whole.set_integer(0, kWord);
  WHET_TRY(const ValueId high,
           site.add("high", BinaryOperator{BinaryKind::greater_equal}, {word, site.add_constant("half", half)}));
  WHET_TRY(const ValueId below,
           site.add("below", BinaryOperator{BinaryKind::sub}, {word, site.add_constant("whole", whole)}));
  return site.add("signed", WhereOperator{}, {high, below, word});
}

}  // namespace

Result<ValueId> bitwise(NodeSite& site, BinaryKind kind, ValueId a, ValueId b) {
  const DType dtype = site.dtype(a);
  if (is_float(dtype) || dtype == DType::boolean || dtype != site.dtype(b))
    return site.error("combines the bits of " + to_string(site.type(a)) + " and " + to_string(site.type(b)) +
                      "; expected integers");
  WHET_TRY(a, site.cast("a_wide", a, DType::i64));
  WHET_TRY(b, site.cast("b_wide", b, DType::i64));
  WHET_TRY(ValueId low, words_combined(site, kind, a, b));
  if (dtype != DType::i64) {
    if (dtype != DType::u8) {
      WHET_TRY(low, as_signed_word(site, low));
    }
    return site.cast("combined", low, dtype);
  }
  // The upper halves in the same way.
  Tensor word(DType::i64, {});
  word.set_integer(0, kWord);
  const ValueId factor = site.add_constant("word_size", word);
  const auto upper = [&](ValueId x) -> Result<ValueId> {
    WHET_TRY(const ValueId rest, site.add("lower", BinaryOperator{BinaryKind::mod}, {x, factor}));
    WHET_TRY(x, site.add("even", BinaryOperator{BinaryKind::sub}, {x, rest}));
    return site.add("upper", BinaryOperator{BinaryKind::div}, {x, factor});
  };
  WHET_TRY(const ValueId left, upper(a));
  WHET_TRY(const ValueId right, upper(b));
  WHET_TRY(ValueId high, words_combined(site, kind, left, right));
  WHET_TRY(high, as_signed_word(site, high));
  WHET_TRY(high, site.add("moved", BinaryOperator{BinaryKind::mul}, {high, factor}));
  return site.add("combined", BinaryOperator{BinaryKind::add}, {high, low});
}

}  // namespace whet
