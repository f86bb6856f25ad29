#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ptx/block.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace {

template <typename T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
/// What has a sign keeps it in wider registers.
template <typename T>
std::uint64_t bits_for(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// The operands of an instruction, and the lanes that run it.
struct Lanes {
  const Instruction& in;
  std::uint32_t mask;
  std::uint64_t* to;
  const std::uint64_t *a, *b, *c, *d;

  Lanes(Warp& warp, const Instruction& instruction, std::uint32_t lanes)
      : in(instruction), mask(lanes), to(warp.slot(instruction.results.empty() ? kSink : instruction.results[0])) {
    const auto operand = [&](std::size_t i) { return warp.slot(i < in.operands.size() ? in.operands[i] : kSink); };
    a = operand(0), b = operand(1), c = operand(2), d = operand(3);
  }

  template <typename F>
  void each(F function) const {
    for (int lane = 0; lane < kLanes; ++lane)
      if ((mask >> lane & 1) != 0) to[lane] = function(lane);
  }
  template <typename T, typename F>
  void one(F function) const {
    each([&](int i) { return bits_for(static_cast<T>(function(value_of<T>(a[i])))); });
  }
  template <typename T, typename F>
  void two(F function) const {
    each([&](int i) { return bits_for(static_cast<T>(function(value_of<T>(a[i]), value_of<T>(b[i])))); });
  }
  template <typename T, typename F>
  void three(F function) const {
    each([&](int i) {
      return bits_for(static_cast<T>(function(value_of<T>(a[i]), value_of<T>(b[i]), value_of<T>(c[i]))));
    });
  }
};

/// Calls `function` with a value of the integer type.
template <typename F>
bool with_integer(Type type, F function) {
  switch (type) {
    case Type::s8:
      return function(std::int8_t{}), true;
    case Type::s16:
      return function(std::int16_t{}), true;
    case Type::s32:
      return function(std::int32_t{}), true;
    case Type::s64:
      return function(std::int64_t{}), true;
    case Type::pred:
    case Type::b8:
    case Type::u8:
      return function(std::uint8_t{}), true;
    case Type::b16:
    case Type::u16:
      return function(std::uint16_t{}), true;
    case Type::b32:
    case Type::u32:
      return function(std::uint32_t{}), true;
    case Type::b64:
    case Type::u64:
      return function(std::uint64_t{}), true;
    default:
      return false;
  }
}

template <typename T>
T flushed(bool flushes, T x) {
  if constexpr (std::is_same_v<T, float>)
    if (flushes && std::fpclassify(x) == FP_SUBNORMAL) return std::copysign(0.0f, x);
  return x;
}

// ---- Integers

template <typename T>
std::uint64_t wide(T x) {
  return static_cast<std::uint64_t>(x);  // sums and products of 64 bits have the lower bits of all
}

template <typename T>
bool is_negative(T x) {
  if constexpr (std::is_signed_v<T>) return x < 0;
  return false;
}

template <typename T>
bool compute_integer(const Lanes& l) {
  constexpr bool kIsSigned = std::is_signed_v<T>;
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  const auto amount = [&](int i) { return static_cast<int>(std::min<std::uint64_t>(l.b[i] & 0xffffffffu, 64)); };
  switch (l.in.op) {
    case Op::absolute:
      return l.one<T>([](T x) { return is_negative(x) ? 0 - wide(x) : wide(x); }), true;
    case Op::negate:
      return l.one<T>([](T x) { return 0 - wide(x); }), true;
    case Op::add:
      return l.two<T>([](T x, T y) { return wide(x) + wide(y); }), true;
    case Op::subtract:
      return l.two<T>([](T x, T y) { return wide(x) - wide(y); }), true;
    case Op::multiply:
      return l.two<T>([](T x, T y) { return wide(x) * wide(y); }), true;
    case Op::multiply_add:
      return l.three<T>([](T x, T y, T z) { return wide(x) * wide(y) + wide(z); }), true;
    case Op::multiply_wide:
      return l.each([&](int i) {
        const std::uint64_t product = wide(value_of<T>(l.a[i])) * wide(value_of<T>(l.b[i]));
        return kBits == 16 ? product & 0xffffffffu : product;
      }),
             true;
    case Op::multiply_high:
      return l.two<T>([](T x, T y) -> std::uint64_t {
        using Whole = std::conditional_t<kIsSigned, __int128, unsigned __int128>;
        return static_cast<std::uint64_t>((static_cast<Whole>(x) * static_cast<Whole>(y)) >> kBits);
      }),
             true;
    case Op::divide:
      return l.two<T>([](T x, T y) -> std::uint64_t {
        if (y == T{0}) return ~std::uint64_t{0};
        if (kIsSigned && y == static_cast<T>(-1)) return 0 - wide(x);
        return wide(static_cast<T>(x / y));
      }),
             true;
    case Op::remainder:
      return l.two<T>([](T x, T y) -> std::uint64_t {
        if (y == T{0} || (kIsSigned && y == static_cast<T>(-1))) return y == T{0} ? wide(x) : 0;
        return wide(static_cast<T>(x % y));
      }),
             true;
    case Op::minimum:
      return l.two<T>([](T x, T y) { return std::min(x, y); }), true;
    case Op::maximum:
      return l.two<T>([](T x, T y) { return std::max(x, y); }), true;
    case Op::bit_and:
      return l.two<T>([](T x, T y) { return wide(x) & wide(y); }), true;
    case Op::bit_or:
      return l.two<T>([](T x, T y) { return wide(x) | wide(y); }), true;
    case Op::bit_xor:
      return l.two<T>([](T x, T y) { return wide(x) ^ wide(y); }), true;
    case Op::bit_not:
      return l.one<T>([&](T x) { return l.in.type == Type::pred ? wide(x) ^ 1 : ~wide(x); }), true;
    case Op::shift_left:
      return l.each([&](int i) {
        const int by = amount(i);
        return bits_for(static_cast<T>(by >= kBits ? 0 : wide(value_of<T>(l.a[i])) << by));
      }),
             true;
    case Op::shift_right:
      return l.each([&](int i) {
        const int by = amount(i);
        const T x = value_of<T>(l.a[i]);
        if (by >= kBits) return bits_for(static_cast<T>(is_negative(x) ? -1 : 0));
        return bits_for(static_cast<T>(x >> by));
      }),
             true;
    case Op::extract_bits:
      return l.each([&](int i) {
        const int first = static_cast<int>(l.b[i] & 255), count = static_cast<int>(l.c[i] & 255);
        const T x = value_of<T>(l.a[i]);
        std::uint64_t bits = 0;
        for (int k = 0; k < kBits; ++k) {  // what is behind the field, or the register, is the sign
          const int from = std::min(first + std::min(k, count - 1), kBits - 1);
          const bool inside = k < count && first + k < kBits;
          const bool bit = count > 0 && (inside || kIsSigned) && (wide(x) >> from & 1) != 0;
          bits |= std::uint64_t{bit} << k;
        }
        return bits_for(static_cast<T>(bits));
      }),
             true;
    case Op::insert_bits:
      return l.each([&](int i) {
        const int first = static_cast<int>(l.c[i] & 255), count = static_cast<int>(l.d[i] & 255);
        std::uint64_t bits = wide(value_of<T>(l.b[i]));
        for (int k = 0; k < count && first + k < kBits; ++k) {
          bits &= ~(std::uint64_t{1} << (first + k));
          bits |= (l.a[i] >> k & 1) << (first + k);
        }
        return bits_for(static_cast<T>(bits));
      }),
             true;
    case Op::compare:
      return l.each([&](int i) -> std::uint64_t {
        const T x = value_of<T>(l.a[i]), y = value_of<T>(l.b[i]);
        switch (l.in.comparison) {
          case Comparison::eq:
            return x == y;
          case Comparison::ne:
            return x != y;
          case Comparison::lt:
            return x < y;
          case Comparison::le:
            return x <= y;
          case Comparison::gt:
            return x > y;
          default:
            return x >= y;
        }
      }),
             true;
    default:
      return false;
  }
}

bool compute_words(const Lanes& l) {
  switch (l.in.op) {
    case Op::dp4a:
      return l.each([&](int i) {
        std::uint32_t sum = value_of<std::uint32_t>(l.c[i]);
        for (int k = 0; k < 4; ++k) {
          const auto x = static_cast<std::uint8_t>(l.a[i] >> 8 * k), y = static_cast<std::uint8_t>(l.b[i] >> 8 * k);
          const int left = is_signed(l.in.type) ? static_cast<std::int8_t>(x) : x,
                    right = is_signed(l.in.from) ? static_cast<std::int8_t>(y) : y;
          sum += static_cast<std::uint32_t>(left * right);
        }
        return bits_for(sum);
      }),
             true;
    case Op::permute:
      return l.each([&](int i) {
        const std::uint64_t both = (l.a[i] & 0xffffffffu) | l.b[i] << 32;
        std::uint32_t word = 0;
        for (int k = 0; k < 4; ++k) {
          const auto selector = static_cast<std::uint32_t>(l.c[i] >> 4 * k);
          auto byte = static_cast<std::uint32_t>(both >> 8 * (selector & 7) & 0xff);
          if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
          word |= byte << 8 * k;
        }
        return bits_for(word);
      }),
             true;
    case Op::funnel_left:
    case Op::funnel_right:
      return l.each([&](int i) {
        const std::uint64_t both = (l.a[i] & 0xffffffffu) | l.b[i] << 32;
        const auto amount = value_of<std::uint32_t>(l.c[i]);
        const std::uint32_t by = l.in.wraps ? amount & 31 : std::min(amount, 32u);
        return bits_for(static_cast<std::uint32_t>(l.in.op == Op::funnel_right ? both >> by : both << by >> 32));
      }),
             true;
    default:
      return false;
  }
}

// ---- Floats

bool holds(Comparison comparison, double x, double y) {
  const bool unordered = std::isnan(x) || std::isnan(y);
  switch (comparison) {
    case Comparison::eq:
      return x == y;
    case Comparison::ne:
      return !unordered && x != y;
    case Comparison::lt:
      return x < y;
    case Comparison::le:
      return x <= y;
    case Comparison::gt:
      return x > y;
    case Comparison::ge:
      return x >= y;
    case Comparison::equ:
      return unordered || x == y;
    case Comparison::neu:
      return unordered || x != y;
    case Comparison::ltu:
      return unordered || x < y;
    case Comparison::leu:
      return unordered || x <= y;
    case Comparison::gtu:
      return unordered || x > y;
    case Comparison::geu:
      return unordered || x >= y;
    case Comparison::num:
      return !unordered;
    case Comparison::nan:
      return unordered;
  }
  return false;
}

template <typename T>
bool compute_float(const Lanes& l) {
  const bool ftz = l.in.flushes, gives_nan = l.in.gives_nan;
  const auto in = [ftz](T x) { return flushed(ftz, x); };
  const auto one = [&](auto function) {
    return l.one<T>([&](T x) { return in(static_cast<T>(function(in(x)))); }), true;
  };
  const auto two = [&](auto function) {
    return l.two<T>([&](T x, T y) { return in(static_cast<T>(function(in(x), in(y)))); }), true;
  };
  switch (l.in.op) {
    case Op::absolute:
      return one([](T x) { return std::abs(x); });
    case Op::negate:
      return one([](T x) { return -x; });
    case Op::sqrt:
      return one([](T x) { return std::sqrt(x); });
    case Op::rsqrt:
      return one([](T x) { return 1 / std::sqrt(static_cast<double>(x)); });
    case Op::reciprocal:
      return one([](T x) { return 1 / x; });
    case Op::exp2:
      return one([](T x) { return std::exp2(static_cast<double>(x)); });
    case Op::add:
      return two([](T x, T y) { return x + y; });
    case Op::subtract:
      return two([](T x, T y) { return x - y; });
    case Op::multiply:
      return two([](T x, T y) { return x * y; });
    case Op::divide:
      return two([](T x, T y) { return x / y; });
    case Op::copysign:
      return l.two<T>([](T sign, T x) { return std::copysign(x, sign); }), true;
    case Op::fma:
      return l.three<T>([&](T x, T y, T z) { return in(std::fma(in(x), in(y), in(z))); }), true;
    case Op::minimum:
    case Op::maximum: {
      const bool least = l.in.op == Op::minimum;
      return two([least, gives_nan](T x, T y) {
        if (gives_nan && (std::isnan(x) || std::isnan(y))) return std::numeric_limits<T>::quiet_NaN();
        if (x == y) return std::signbit(x) == least ? x : y;  // zeros have an order
        return least ? std::fmin(x, y) : std::fmax(x, y);
      });
    }
    case Op::compare:
      return l.each([&](int i) -> std::uint64_t {
        return holds(l.in.comparison, in(value_of<T>(l.a[i])), in(value_of<T>(l.b[i])));
      }),
             true;
    default:
      return false;
  }
}

// ---- Conversions

double rounded(Rounding rounding, double x) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(x);
    case Rounding::down:
      return std::floor(x);
    case Rounding::up:
      return std::ceil(x);
    default:
      return std::trunc(x);
  }
}

double float_of(const Instruction& in, std::uint64_t bits) {
  if (in.from == Type::f64) return value_of<double>(bits);
  if (in.from == Type::f16) return half_to_float(value_of<std::uint16_t>(bits));
  return flushed(in.flushes, value_of<float>(bits));
}

std::uint64_t float_bits(const Instruction& in, double x) {
  if (in.integral) x = rounded(in.rounding, x);
  if (in.saturates) x = std::isnan(x) ? 0 : std::clamp(x, 0.0, 1.0);
  if (in.type == Type::f64) return bits_for(x);
  if (in.type == Type::f16) return float_to_half(static_cast<float>(x));
  return bits_for(flushed(in.flushes, static_cast<float>(x)));
}

template <typename To>
To saturated(double x) {
  if (std::isnan(x)) return 0;
  constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min()),
                   kEnd = static_cast<double>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (x < kLow) return std::numeric_limits<To>::min();
  return x >= kEnd ? std::numeric_limits<To>::max() : static_cast<To>(x);
}

bool convert(const Lanes& l) {
  const Instruction& in = l.in;
  if (is_float(in.type) && is_float(in.from))
    return l.each([&](int i) { return float_bits(in, float_of(in, l.a[i])); }), true;
  if (is_float(in.from))
    return with_integer(in.type, [&]<typename To>(To) {
      l.each([&](int i) { return bits_for(saturated<To>(rounded(in.rounding, float_of(in, l.a[i])))); });
    });
  if (is_float(in.type))
    return with_integer(in.from, [&]<typename From>(From) {
      l.each([&](int i) {
        const From x = value_of<From>(l.a[i]);
        return in.type == Type::f64 ? bits_for(static_cast<double>(x)) : bits_for(static_cast<float>(x));
      });
    });
  return with_integer(in.from, [&]<typename From>(From) {
    with_integer(in.type, [&]<typename To>(To) {
      using Limits = std::numeric_limits<To>;
      l.each([&](int i) {
        const From x = value_of<From>(l.a[i]);
        if (in.saturates && std::cmp_less(x, Limits::min())) return bits_for(Limits::min());
        if (in.saturates && std::cmp_greater(x, Limits::max())) return bits_for(Limits::max());
        return bits_for(static_cast<To>(x));
      });
    });
  });
}

std::uint32_t half_bits(std::uint64_t bits) { return float_to_half(value_of<float>(bits)); }
std::uint32_t bf16_bits(std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  if (std::isnan(value_of<float>(bits))) return 0x7fff;
  return (word + 0x7fff + (word >> 16 & 1)) >> 16;
}
/// To the nearest, ties to even or away from zero; the bits that tf32 has not are 0.
std::uint32_t tf32_bits(std::uint64_t bits, bool to_even) {
  const auto word = static_cast<std::uint32_t>(bits);
  const std::uint32_t half = to_even ? 0xfff + (word >> 13 & 1) : 0x1000;
  return std::isfinite(value_of<float>(bits)) ? (word + half) & ~0x1fffu : word;
}

void move_parts(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const bool packs = in.op == Op::pack;
  const std::vector<int>& parts = packs ? in.operands : in.results;
  const int bits = bits_of(in.type) / static_cast<int>(parts.size());
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    std::uint64_t whole = packs ? 0 : warp.slot(in.operands[0])[lane];
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const int shift = bits * static_cast<int>(k);
      if (packs)
        whole |= (warp.slot(parts[k])[lane] & mask) << shift;
      else
        warp.slot(parts[k])[lane] = whole >> shift & mask;
    }
    if (packs) warp.slot(in.results[0])[lane] = whole;
  }
}

}  // namespace

bool Block::compute(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  const Lanes l(warp, in, lanes);
  switch (in.op) {
    case Op::move:
      return l.each([&](int i) { return l.a[i]; }), true;
    case Op::select:
      return l.each([&](int i) { return l.c[i] != 0 ? l.a[i] : l.b[i]; }), true;
    case Op::pack:
    case Op::unpack:
      return move_parts(warp, in, lanes), true;
    case Op::convert:
      return convert(l);
    case Op::convert_f16x2:
      return l.each([&](int i) { return std::uint64_t{half_bits(l.a[i]) << 16 | half_bits(l.b[i])}; }), true;
    case Op::convert_bf16x2:
      return l.each([&](int i) { return std::uint64_t{bf16_bits(l.a[i]) << 16 | bf16_bits(l.b[i])}; }), true;
    case Op::convert_tf32:
      return l.each([&](int i) { return std::uint64_t{tf32_bits(l.a[i], false)}; }), true;
    case Op::convert_tf32_to_even:
      return l.each([&](int i) { return std::uint64_t{tf32_bits(l.a[i], true)}; }), true;
    case Op::dp4a:
    case Op::permute:
    case Op::funnel_left:
    case Op::funnel_right:
      return compute_words(l);
    default:
      break;
  }
  if (in.type == Type::f32) return compute_float<float>(l);
  if (in.type == Type::f64) return compute_float<double>(l);
  bool done = false;
  with_integer(in.type, [&]<typename T>(T) { done = compute_integer<T>(l); });
  return done;
}

}  // namespace whet::ptx
