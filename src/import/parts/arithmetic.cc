#include "import/parts/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/arithmetic.h"
#include "import/parts/activation.h"
#include "import/parts/shape.h"

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

/// At each n what `power` says of it, up to the number of bits of `dtype`.
template <typename Power>
Tensor powers(DType dtype, std::int64_t bits, Power power) {
  Tensor table(dtype, {bits + 1});
  for (std::int64_t n = 0; n <= bits; ++n) table.set_integer(n, power(n));
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

Result<ValueId> square(NodeSite& site, ValueId x) {
  return site.add("square", BinaryOperator{BinaryKind::mul}, {x, x});
}

Result<ValueId> reciprocal_root(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId root, site.add("root", UnaryOperator{UnaryKind::sqrt}, {x}));
  return site.add("reciprocal", UnaryOperator{UnaryKind::reciprocal}, {root});
}

Result<ValueId> not_equal(NodeSite& site, ValueId a, ValueId b) {
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{BinaryKind::equal}, {a, b}));
  return site.add("not_equal", UnaryOperator{UnaryKind::logical_not}, {equal});
}

Result<ValueId> chosen(NodeSite& site, ValueId condition, ValueId a, ValueId b) {
  return site.add("chosen", WhereOperator{}, {condition, a, b});
}
Result<ValueId> chosen_rows(NodeSite& site, ValueId condition, ValueId a, ValueId b) {
  const Shape rows = site.shape(condition);
  if (rows.size() == 1 && site.rank(a) > 1 && rows[0] == site.shape(a)[0]) {
    WHET_TRY(condition, site.add("rows", ReshapeOperator{shape_along(0, site.rank(a), rows[0])}, {condition}));
  }
  return chosen(site, condition, a, b);
}

Result<ValueId> is_between(NodeSite& site, ValueId x, double low, double high) {
  WHET_TRY(const ValueId above, with_number(site, "low", BinaryKind::greater_equal, x, low));
  WHET_TRY(const ValueId below, with_number(site, "high", BinaryKind::less_equal, x, high));
  return site.add("within", BinaryOperator{BinaryKind::logical_and}, {above, below});
}

Result<ValueId> is_finite(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{BinaryKind::sub}, {x, x}));  // else no number
  return with_number(site, "finite", BinaryKind::equal, rest, 0);
}

Result<ValueId> mean_of(NodeSite& site, const std::vector<ValueId>& values) {
  if (values.size() == 1) return values[0];
  WHET_TRY(const ValueId sum, chained(site, BinaryKind::add, values));
  const ValueId divisor = site.add_scalar("count", site.dtype(sum), static_cast<double>(values.size()));
  return site.add("mean", BinaryOperator{BinaryKind::div}, {sum, divisor});
}

/// By the longer side and the ratio of the two.
Result<ValueId> hypotenuse(NodeSite& site, ValueId a, ValueId b) {
  WHET_TRY(a, site.add("a_size", UnaryOperator{UnaryKind::abs}, {a}));
  WHET_TRY(b, site.add("b_size", UnaryOperator{UnaryKind::abs}, {b}));
  WHET_TRY(const ValueId longer, site.add("longer", BinaryOperator{BinaryKind::max}, {a, b}));
  WHET_TRY(const ValueId shorter, site.add("shorter", BinaryOperator{BinaryKind::min}, {a, b}));
  WHET_TRY(ValueId ratio, site.add("ratio", BinaryOperator{BinaryKind::div}, {shorter, longer}));
  WHET_TRY(ratio, square(site, ratio));
  WHET_TRY(ratio, with_number(site, "sum", BinaryKind::add, ratio, 1));
  WHET_TRY(ratio, site.add("root", UnaryOperator{UnaryKind::sqrt}, {ratio}));
  WHET_TRY(const ValueId length, site.add("length", BinaryOperator{BinaryKind::mul}, {ratio, longer}));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{BinaryKind::equal}, {longer, shorter}));
  WHET_TRY(const ValueId diagonal, with_number(site, "diagonal", BinaryKind::mul, longer, std::sqrt(2.0)));
  return chosen(site, equal, diagonal, length);  // of two zeros, or two infinities, there is no ratio
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

Result<ValueId> floored_quotient(NodeSite& site, ValueId a, ValueId b) {
  if (is_float(site.dtype(a))) {
    WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{BinaryKind::div}, {a, b}));
    return site.add("floored", UnaryOperator{UnaryKind::floor}, {quotient});
  }
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{BinaryKind::mod}, {a, b}));
  WHET_TRY(const ValueId even, site.add("even", BinaryOperator{BinaryKind::sub}, {a, rest}));
  return site.add("floored", BinaryOperator{BinaryKind::div}, {even, b});
}

Result<ValueId> floored_remainder(NodeSite& site, ValueId a, ValueId b) {
  if (!is_float(site.dtype(a))) return site.add("rest", BinaryOperator{BinaryKind::mod}, {a, b});
  WHET_TRY(const ValueId times, floored_quotient(site, a, b));
  WHET_TRY(const ValueId even, site.add("even", BinaryOperator{BinaryKind::mul}, {times, b}));
  return site.add("rest", BinaryOperator{BinaryKind::sub}, {a, even});
}

Result<ValueId> truncated(NodeSite& site, ValueId x) {
  if (!is_float(site.dtype(x))) return x;
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{UnaryKind::sign}, {x}));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{UnaryKind::abs}, {x}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{UnaryKind::floor}, {size}));
  return site.add("truncated", BinaryOperator{BinaryKind::mul}, {sign, whole});
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

Result<ValueId> wrapped(NodeSite& site, ValueId x, const HeldInteger& type) {
  const double count = std::exp2(type.bits), below = type.is_signed ? count / 2 : 0;
  WHET_TRY(x, site.cast("wide", x, DType::i64));
  if (type.is_signed) {
    WHET_TRY(x, with_number(site, "raised", BinaryKind::add, x, below));
  }
  WHET_TRY(x, with_number(site, "wrapped", BinaryKind::mod, x, count));
  if (type.is_signed) {
    WHET_TRY(x, with_number(site, "lowered", BinaryKind::sub, x, below));
  }
  return site.cast("held", x, type.held);
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
  const DType dtype = site.dtype(x);
  const auto counts = [](DType type) { return !is_float(type) && type != DType::boolean; };
  if (!counts(dtype) || !counts(site.dtype(count)))
    return site.error("shifts " + to_string(site.type(x)) + " by " + to_string(site.type(count)) +
                      "; expected integers");
  const std::int64_t bits = 8 * size_of(dtype), most = bits - (dtype == DType::u8 ? 1 : 2);  // 2^most is a number
  WHET_TRY(ValueId places, site.cast("wide_count", count, DType::i64));
  WHET_TRY(places, site.add("bits", ClipOperator{0, static_cast<double>(bits)}, {places}));
  const auto looked_up = [&](const char* part, auto power) {
    return site.add(part, GatherOperator{0}, {site.add_constant("powers", powers(dtype, bits, power)), places});
  };
  if (left) {
    WHET_TRY(const ValueId factor, looked_up("factor", [&](std::int64_t n) {
               const std::uint64_t factor = n >= bits ? 0 : std::uint64_t{1} << n;
               return static_cast<std::int64_t>(n > most ? 0 - factor : factor);
             }));
    return site.add("product", BinaryOperator{BinaryKind::mul}, {x, factor});
  }
  // Two quotients: what moves all bits out leaves the sign, and no power of two is that large.
  WHET_TRY(const ValueId divisor,
           looked_up("divisor", [&](std::int64_t n) { return std::int64_t{1} << std::min(n, most); }));
  WHET_TRY(x, floored_quotient(site, x, divisor));
  const Tensor* known = site.constant(places);
  if (known != nullptr && known->size() == 1 && known->integer(0) <= most) return x;
  WHET_TRY(const ValueId rest,
           looked_up("rest", [&](std::int64_t n) { return std::int64_t{1} << (n - std::min(n, most)); }));
  return floored_quotient(site, x, rest);
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

constexpr double kWord = 0x1p32;

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
  WHET_TRY(const ValueId high, with_number(site, "high", BinaryKind::greater_equal, word, kWord / 2));
  WHET_TRY(const ValueId below, with_number(site, "below", BinaryKind::sub, word, kWord));
  return site.add("signed", WhereOperator{}, {high, below, word});
}

/// The lowest bits of a number are what is left of it by 2^n: that, where a known mask is one of lowest bits.
std::optional<ValueId> modulus_of_mask(NodeSite& site, ValueId mask) {
  const Tensor* known = site.constant(mask);
  if (known == nullptr || known->size() != 1) return std::nullopt;
  const std::int64_t bits = 8 * size_of(known->dtype()), ones = known->integer(0);
  if (ones < 0 || (ones & (ones + 1)) != 0 || ones >= (std::int64_t{1} << (bits - 2))) return std::nullopt;
  Tensor modulus(known->dtype(), known->shape());
  modulus.set_integer(0, ones + 1);
  return site.add_constant("modulus", modulus);
}

}  // namespace

Result<ValueId> bitwise(NodeSite& site, BinaryKind kind, ValueId a, ValueId b) {
  const DType dtype = site.dtype(a);
  if (is_float(dtype) || dtype == DType::boolean || dtype != site.dtype(b))
    return site.error("combines the bits of " + to_string(site.type(a)) + " and " + to_string(site.type(b)) +
                      "; expected integers");
  if (kind == BinaryKind::logical_and) {
    for (const auto& [x, mask] : {std::pair(a, b), std::pair(b, a)}) {
      if (const auto modulus = modulus_of_mask(site, mask))
        return site.add("lowest", BinaryOperator{BinaryKind::mod}, {x, *modulus});
    }
  }
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
  const ValueId factor = site.add_scalar("word_size", DType::i64, kWord);
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
