#include "import/parts/bits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

// By arithmetic in i64, where every word of up to 8 bytes is held; floats by tables of their exponents.

namespace whet {
namespace {

using B = BinaryKind;

/// The tables of a float's form.
struct FloatForm {
  explicit FloatForm(const BitForm& form)
      : bits(8 * form.bytes),
        digits(static_cast<int>(form.digits)),
        exponents(std::int64_t{1} << (bits - 1 - form.digits)),
        bias(static_cast<int>(exponents / 2 - 1)),
        one(std::ldexp(1.0, digits)) {}

  bool is_last(std::int64_t e) const { return e == exponents - 1; }
  /// The exponent of 2 that digits, taken as an integer, are multiplied by.
  int power(std::int64_t e) const { return std::max(static_cast<int>(e), 1) - bias - digits; }

  std::int64_t bits;
  int digits;
  std::int64_t exponents;
  int bias;
  double one;  ///< what stands before the digits, unless the exponent is 0
};

/// Words below 2^bits.
Result<ValueId> float_of(NodeSite& site, ValueId word, const FloatForm& form) {
  const std::int64_t signs = 2 * form.exponents;
  Tensor scale(DType::f32, {signs}), lead(DType::f32, {signs});
  for (std::int64_t i = 0; i < signs; ++i) {
    const std::int64_t e = i % form.exponents;
    const double size = form.is_last(e) ? kInfinity : std::ldexp(1.0, form.power(e));
    scale.set(i, i < form.exponents ? size : -size);
    lead.set(i, e == 0 ? 0 : form.one);
  }
  WHET_TRY(const ValueId high, with_number(site, "high", B::div, word, form.one));
  WHET_TRY(ValueId low, with_number(site, "low", B::mod, word, form.one));
  WHET_TRY(low, site.cast("digits", low, DType::f32));
  WHET_TRY(const ValueId factor, gather(site, site.add_constant("scale", scale), high, 0));
  WHET_TRY(const ValueId first, gather(site, site.add_constant("lead", lead), high, 0));
  WHET_TRY(ValueId y, site.add("whole", BinaryOperator{B::add}, {low, first}));
  WHET_TRY(y, site.add("scaled", BinaryOperator{B::mul}, {y, factor}));
  WHET_TRY(ValueId nan, is_infinite(site, factor, true, true));
  WHET_TRY(const ValueId has_digits, with_number(site, "has_digits", B::greater, low, 0));
  WHET_TRY(nan, site.add("is_nan", BinaryOperator{B::logical_and}, {nan, has_digits}));
  const ValueId none = site.add_scalar("nan", DType::f32, std::numeric_limits<double>::quiet_NaN());
  return site.add("float", WhereOperator{}, {nan, none, y});
}

/// The way back.
Result<ValueId> word_of_float(NodeSite& site, ValueId x, const FloatForm& form) {
  std::vector<double> bounds;
  Tensor scale(DType::f64, {form.exponents}), start(DType::i64, {form.exponents});
  for (std::int64_t e = 0; e < form.exponents; ++e) {
    const bool is_last = form.is_last(e);
    if (e > 0) bounds.push_back(is_last ? kInfinity : std::ldexp(1.0, static_cast<int>(e) - form.bias));
    scale.set(e, is_last ? 0 : std::ldexp(1.0, -form.power(e)));
    start.set_integer(e, static_cast<std::int64_t>(form.one) * (e == 0 || is_last ? e : e - 1));
  }
  WHET_TRY(x, site.cast("single", x, DType::f32));
  WHET_TRY(const ValueId nan, site.add("is_nan", UnaryOperator{UnaryKind::is_nan}, {x}));
  WHET_TRY(x, site.add("or_infinity", WhereOperator{}, {nan, site.add_scalar("infinity", DType::f32, kInfinity), x}));
  WHET_TRY(ValueId size, site.add("size", UnaryOperator{UnaryKind::abs}, {x}));
  WHET_TRY(ValueId e, bucket_of(site, size, bounds));
  WHET_TRY(e, site.cast("exponent", e, DType::i64));
  WHET_TRY(size, with_number(site, "finite", B::min, size, std::numeric_limits<float>::max()));
  WHET_TRY(size, site.cast("wide", size, DType::f64));
  WHET_TRY(const ValueId factor, gather(site, site.add_constant("scale", scale), e, 0));
  WHET_TRY(size, site.add("digits", BinaryOperator{B::mul}, {size, factor}));
  WHET_TRY(ValueId word, site.cast("whole", size, DType::i64));
  WHET_TRY(const ValueId before, gather(site, site.add_constant("start", start), e, 0));
  WHET_TRY(word, site.add("word", BinaryOperator{B::add}, {word, before}));
  // -0 has a sign, which shows in its reciprocal.
  WHET_TRY(ValueId minus, site.add("inverse", UnaryOperator{UnaryKind::reciprocal}, {x}));
  WHET_TRY(minus, with_number(site, "minus_zero", B::less, minus, 0));
  WHET_TRY(const ValueId below, with_number(site, "below", B::less, x, 0));
  WHET_TRY(minus, site.add("minus", BinaryOperator{B::logical_or}, {minus, below}));
  WHET_TRY(minus, site.cast("sign", minus, DType::i64));
  WHET_TRY(minus, with_number(site, "sign_bit", B::mul, minus, std::ldexp(1.0, static_cast<int>(form.bits - 1))));
  WHET_TRY(word, site.add("signed", BinaryOperator{B::add}, {word, minus}));
  const double none = form.one * (static_cast<double>(form.exponents) - 0.5);
  return site.add("bits", WhereOperator{}, {nan, site.add_scalar("nan", DType::i64, none), word});
}

/// Powers of 2^bits: [count].
Tensor byte_places(std::int64_t bits, std::int64_t count) {
  Tensor powers(DType::i64, {count});
  for (std::int64_t k = 0; k < count; ++k) powers.set_integer(k, std::int64_t{1} << (bits * k));
  return powers;
}

/// Each word as `count` of them, whose higher bits count nothing.
Result<ValueId> divided(NodeSite& site, ValueId words, std::int64_t bits, std::int64_t count) {
  Shape shape = site.shape(words);
  if (shape.empty()) return site.error("takes a scalar as " + std::to_string(count) + " numbers");
  shape.back() *= count;
  WHET_TRY(words, unsqueezed(site, words, {-1}));
  WHET_TRY(words, floored_quotient(site, words, site.add_constant("places", byte_places(bits, count))));
  return site.add("words", ReshapeOperator{shape}, {words});
}

/// `count` words each as one. The highest keeps a sign, so that nothing leaves i64.
Result<ValueId> combined(NodeSite& site, ValueId words, std::int64_t bits, std::int64_t count) {
  Shape shape = site.shape(words);
  if (shape.empty() || shape.back() % count != 0)
    return site.error("takes each " + std::to_string(count) + " numbers of " + to_string(site.type(words)) + " as one");
  shape.back() /= count;
  shape.push_back(count);
  Tensor half(DType::i64, {count});
  half.set_integer(count - 1, std::int64_t{1} << (bits - 1));
  const ValueId below = site.add_constant("half", half);
  WHET_TRY(words, site.add("apart", ReshapeOperator{shape}, {words}));
  WHET_TRY(words, site.add("raised", BinaryOperator{B::add}, {words, below}));
  WHET_TRY(words, with_number(site, "low_bits", B::mod, words, std::ldexp(1.0, static_cast<int>(bits))));
  WHET_TRY(words, site.add("lowered", BinaryOperator{B::sub}, {words, below}));
  const ValueId powers = site.add_constant("places", byte_places(bits, count));
  WHET_TRY(words, site.add("placed", BinaryOperator{B::mul}, {words, powers}));
  return site.add("words", ReduceOperator{ReduceKind::sum, {static_cast<std::int64_t>(shape.size()) - 1}, false},
                  {words});
}

}  // namespace

Result<ValueId> view_bits(NodeSite& site, ValueId x, const BitForm& from, const BitForm& to, DType dtype) {
  if ((from.digits > 0 && from.bytes == 8) || (to.digits > 0 && to.bytes == 8))
    return site.error("takes bits of f64, which is not supported");
  const std::int64_t bits = 8 * to.bytes;
  WHET_TRY(ValueId words,
           from.digits > 0 ? word_of_float(site, x, FloatForm(from)) : site.cast("words", x, DType::i64));
  if (from.bytes > to.bytes) {
    WHET_TRY(words, divided(site, words, bits, from.bytes / to.bytes));
  }
  if (from.bytes < to.bytes) {
    WHET_TRY(words, combined(site, words, 8 * from.bytes, to.bytes / from.bytes));
  }
  if (bits == 64) return site.cast("numbers", words, dtype);
  const double all = std::ldexp(1.0, static_cast<int>(bits)), below = to.digits == 0 && to.is_signed ? all / 2 : 0;
  WHET_TRY(words, with_number(site, "raised", B::add, words, below));
  WHET_TRY(words, with_number(site, "low_bits", B::mod, words, all));
  if (to.digits > 0) {
    WHET_TRY(words, float_of(site, words, FloatForm(to)));
  } else {
    WHET_TRY(words, with_number(site, "lowered", B::sub, words, below));
  }
  return site.cast("numbers", words, dtype);
}

}  // namespace whet
