#include <gtest/gtest.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "base/rng.h"
#include "codegen/testing/builder.h"
#include "codegen/testing/native.h"
#include "lower/cpu/passes.h"
#include "lower/cpu/reciprocals.h"
#include "lower/expand_math.h"

namespace whet {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr double kSmallest = 0x1p-126;  ///< of the normal numbers

// ---- Where the functions are looked at

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Limits of f32, and where the expansions change their formula, overflow or vanish; all with both signs.
const float kPoints[] = {0.0f,        0x1p-149f, 0x1p-126f, 1e-30f,      0x1p-12f,  0.34657359f, 0.5f,      0.625f,
                         0.70710678f, 0.95f,     1.0f,      1.41421356f, 3.92f,     4.0f,        8.5f,      9.0109f,
                         10.0f,       16.6355f,  17.3287f,  44.0f,       87.33654f, 88.37626f,   88.72283f, 103.97208f,
                         150.0f,      0x1p20f,   0x1p24f,   0x1p30f,     kMax,      kInf};

/// Every 4099th of all bit patterns and `reach` neighbours on both sides of the points, a multiple of 64 of them.
std::vector<float> samples(std::uint32_t reach = 1024, std::uint32_t stride = 4099) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride)
    x.push_back(of_bits(static_cast<std::uint32_t>(bits)));
  for (float point : kPoints)
    for (std::uint32_t k = 0; k <= 2 * reach; ++k) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(point) - reach + k;  // wraps around at 0
      x.push_back(of_bits(bits)), x.push_back(of_bits(bits ^ 0x80000000u));
    }
  x.resize((x.size() + 63) / 64 * 64, 1.0f);
  return x;
}

// ---- Running and judging

using Inputs = std::vector<std::vector<float>>;
using Make = std::function<Expr(const std::vector<Expr>&)>;  ///< an expression of the inputs' vectors

/// The expression of all inputs on the target. `flush`: subnormal numbers count as zero, as they do on GPUs.
std::vector<float> run(const Make& make, const Inputs& inputs, const Target& target, bool flush) {
  const auto n = static_cast<std::int64_t>(inputs[0].size());
  const int lanes = target.cpu().lanes(4);
  Builder b("math");
  std::vector<BufferId> in;
  std::vector<Tensor> arguments;
  for (const std::vector<float>& input : inputs) {
    in.push_back(b.input(n));
    arguments.push_back(Tensor::of<float>(DType::f32, {n}, input));
  }
  const BufferId y = b.output(n);
  arguments.emplace_back(DType::f32, Shape{n});
  b.p.body = b.loop(n / lanes, [&](Expr i) {
    const Expr at = ramp(i * lanes, 1, lanes);
    std::vector<Expr> args;
    for (BufferId id : in) args.push_back(b.at(id, at));
    return b.put(y, at, make(args));
  });
  const unsigned mode = _mm_getcsr();
  if (flush) _mm_setcsr(mode | 0x8040);  // threads begin with their maker's mode
  const Result<std::vector<Tensor>> got = run_native(expand_math(b.p, math_support(target.cpu())), target, arguments);
  _mm_setcsr(mode);
  EXPECT_TRUE(got.ok()) << got.error().message;
  if (!got.ok()) return std::vector<float>(inputs[0].size());
  const std::span<const float> values = got.value().back().as<float>();
  return {values.begin(), values.end()};
}

/// Units in the last place between the two, which subnormal numbers have from 2^-149 on. Where they are `lost`, a result
/// below the normal numbers may be anything between 0 and the smallest of those; infinity is one unit above the largest.
double error_of(float got, double want, bool lost) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  if (std::abs(want) < kSmallest) {
    if (lost) return std::abs(got) <= kSmallest && static_cast<double>(got) * want >= 0 ? 0 : INFINITY;
    return std::abs(got - want) / 0x1p-149;
  }
  if (got == static_cast<float>(want) && std::isinf(got)) return 0;
  const double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  return std::abs(value - want) / std::ldexp(1.0, std::min(std::ilogb(want), 127) - 23);
}

bool subnormal(float x) { return x != 0 && std::abs(x) < kSmallest; }
float flushed(float x) { return subnormal(x) ? std::copysign(0.0f, x) : x; }

using Function = std::function<double(double)>;

/// Holds the expression to its bound everywhere, on every processor, with and without subnormal numbers.
void expect_within(double bound, const Make& make, const Function& truth, double largest = INFINITY,
                   bool small_are_lost = false) {
  static const std::vector<float> all = samples();
  std::vector<float> x = all;
  for (float& value : x)
    if (std::abs(value) > largest) value = 1;
  std::vector<double> want;
  for (float value : x) want.push_back(truth(value));
  for (const Target& target : runnable_targets())
    for (bool flush : {false, true}) {
      const std::vector<float> got = run(make, {x}, target, flush);
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double error = error_of(got[i], want[i], flush || small_are_lost);
        if (flush && subnormal(x[i])) error = std::min(error, error_of(flushed(got[i]), truth(flushed(x[i])), true));
        if (error > worst) worst = error, where = i;
      }
      EXPECT_LE(worst, bound) << target.cpu().mcpu << (flush ? ", subnormals are zero" : "") << ": at " << x[where]
                              << " got " << got[where] << ", expected " << want[where];
    }
}

void expect_within(double bound, MathFn fn, const Function& truth, double largest = INFINITY,
                   bool small_are_lost = false) {
  expect_within(bound, [fn](const std::vector<Expr>& args) { return call(fn, args); }, truth, largest, small_are_lost);
}

TEST(NativeMath, IsWithinTwoUnitsOfExp) {
  expect_within(2, MathFn::exp, [](double x) { return std::exp(x); });
}
TEST(NativeMath, IsWithinTwoUnitsOfLog) {
  expect_within(2, MathFn::log, [](double x) { return std::log(x); });
}
TEST(NativeMath, IsWithinFourUnitsOfTanh) {
  expect_within(4, MathFn::tanh, [](double x) { return std::tanh(x); });
}
TEST(NativeMath, IsWithinTwoUnitsOfErf) {
  expect_within(2, MathFn::erf, [](double x) { return std::erf(x); });
}
TEST(NativeMath, IsWithinFourUnitsOfSigmoid) {
  expect_within(4, MathFn::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, INFINITY, true);
}
TEST(NativeMath, RoundsSqrtRightly) {
  expect_within(0.5, MathFn::sqrt, [](double x) { return std::sqrt(x); });
}
TEST(NativeMath, IsWithinTwoUnitsOfRsqrt) {
  expect_within(2, MathFn::rsqrt, [](double x) { return 1 / std::sqrt(x); });
}
TEST(NativeMath, IsWithinTwoUnitsOfSinAndCosUpToAMillion) {
  expect_within(2, MathFn::sin, [](double x) { return std::sin(x); }, 0x1p20);
  expect_within(2, MathFn::cos, [](double x) { return std::cos(x); }, 0x1p20);
}

// ---- pow

/// Holds x[i] to the y[i] to 2 units.
void expect_powers(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<double> want;
  for (std::size_t i = 0; i < x.size(); ++i)
    want.push_back(std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
  for (const Target& target : runnable_targets())
    for (bool flush : {false, true}) {
      const std::vector<float> got =
          run([](const auto& args) { return call(MathFn::pow, args); }, {x, y}, target, flush);
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double error = error_of(got[i], want[i], flush);
        if (flush && (subnormal(x[i]) || subnormal(y[i]))) {
          const double a = flushed(x[i]), b = flushed(y[i]);
          error = std::min(error, error_of(flushed(got[i]), std::pow(a, b), true));
        }
        if (error > worst) worst = error, where = i;
      }
      EXPECT_LE(worst, 2) << target.cpu().mcpu << (flush ? ", subnormals are zero" : "") << ": " << x[where]
                          << " to the " << y[where] << " got " << got[where] << ", expected " << want[where];
    }
}

TEST(NativeMath, IsWithinTwoUnitsOfPow) {
  // Bases of the whole range; exponents that keep the power in the range or just leave it, and small integers.
  Rng rng(11);
  std::vector<float> x = samples(16, 8209), y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double log2 = std::log2(std::abs(static_cast<double>(x[i])));
    const double limit = std::isfinite(log2) && log2 != 0 ? 152 / std::abs(log2) : 100;
    const bool whole = std::signbit(x[i]) || i % 4 == 0;  // a negative number has no other powers
    const double exponent = rng.uniform(-limit, limit);
    y.push_back(static_cast<float>(whole ? std::nearbyint(exponent) : exponent));
  }
  expect_powers(x, y);
}
TEST(NativeMath, IsWithinTwoUnitsOfPowWhereTheLogarithmIsSmall) {
  // Bases around 1, exponents so large that the power is not.
  Rng rng(12);
  std::vector<float> x, y;
  for (int i = 0; i < 1 << 16; ++i) {
    x.push_back(of_bits(0x3f800000u + static_cast<std::uint32_t>(rng.between(-30000, 30000))));
    const double log2 = std::log2(static_cast<double>(x.back()));
    y.push_back(static_cast<float>(log2 == 0 ? 1e30 : rng.uniform(-150, 150) / log2));
  }
  expect_powers(x, y);
}
TEST(NativeMath, IsWithinTwoUnitsOfPowForAnyTwoNumbers) {
  Rng rng(13);
  std::vector<float> x, y;
  for (int i = 0; i < 1 << 17; ++i) {
    x.push_back(of_bits(static_cast<std::uint32_t>(rng.next())));
    y.push_back(of_bits(static_cast<std::uint32_t>(rng.next())));
  }
  for (float a : kPoints)
    for (float b : kPoints)
      for (float c : {a, -a})
        for (float d : {b, -b}) x.push_back(c), y.push_back(d);
  for (float special : {2.0f, 3.0f, 5.0f, -2.0f, -3.0f, 0.5f, -0.5f, 1.5f, 16777215.0f, 33554432.0f, std::nanf("")})
    for (float b : kPoints)
      for (float c : {b, -b}) {
        x.push_back(special), y.push_back(c);
        x.push_back(c), y.push_back(special);
      }
  x.resize((x.size() + 63) / 64 * 64, 1.0f), y.resize(x.size(), 1.0f);
  expect_powers(x, y);
}
TEST(NativeMath, IsWithinTwoUnitsOfPowWithAConstantExponent) {
  for (double exponent : {2.0, 3.0, -1.0, 0.5})
    expect_within(
        2, [&](const auto& args) { return call(MathFn::pow, {args[0], f32(exponent, args[0]->lanes)}); },
        [&](double x) { return std::pow(x, exponent); });
}

TEST(NativeMath, RoundsExactly) {
  expect_within(0, MathFn::floor, [](double x) { return std::floor(x); });
  expect_within(0, MathFn::ceil, [](double x) { return std::ceil(x); });
  expect_within(0, MathFn::round, [](double x) { return std::nearbyint(x); });
}

// ---- Division by one number

/// x / divisor, or x / sqrt(divisor), the divisor in a register, through its reciprocal where the processor can.
std::vector<float> quotients(const std::vector<float>& x, float divisor, const Target& target, bool root = false) {
  const auto n = static_cast<std::int64_t>(x.size());
  const int lanes = target.cpu().lanes(4);
  Builder b("divide");
  const BufferId in = b.input(n), d = b.input(1), y = b.output(n), held = b.scratch(Scope::registers, 1);
  const Expr by = root ? make_expr(DType::f32, 1, Call{MathFn::sqrt, {b.at(d, 0)}}) : b.at(d, 0);
  b.p.body = block({b.put(held, 0, by), b.loop(n / lanes, [&](Expr i) {
                      const Expr at = ramp(i * lanes, 1, lanes);
                      return b.put(y, at, b.at(in, at) / broadcast(b.at(held, 0), lanes));
                    })});
  const Program shared = target.cpu().fma ? share_reciprocals(b.p).value() : b.p;
  EXPECT_EQ(to_text(shared).find("let reciprocal") != std::string::npos, target.cpu().fma);
  const Result<std::vector<Tensor>> got =
      run_native(shared, target,
                 {Tensor::of<float>(DType::f32, {n}, x), Tensor::of<float>(DType::f32, {1}, std::vector{divisor}),
                  Tensor(DType::f32, {n})});
  EXPECT_TRUE(got.ok()) << got.error().message;
  if (!got.ok()) return std::vector<float>(x.size());
  const std::span<const float> values = got.value().back().as<float>();
  return {values.begin(), values.end()};
}

TEST(Division, ThroughAReciprocalIsTheDivision) {
  const std::vector<float> x = samples(64, 40961);
  for (const Target& target : runnable_targets())
    for (float divisor : {3.0f, 0.7f, 1.0f, 1e-5f, 0x1.fffffep0f, 0x1.000002p0f, 1e10f, 0x1p-60f, 0x1p60f, 0x1p61f,
                          0x1p127f, 1e-40f, 0.0f, -2.0f, kInf, NAN}) {
      const std::vector<float> got = quotients(x, divisor, target);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float want = x[i] / divisor;
        // Beyond, the correction vanishes or the quotient is about to be infinite.
        const bool exact = !(x[i] != 0 && std::abs(x[i]) < 0x1p-79f) && !(std::abs(want) < kSmallest && want != 0) &&
                           !(std::abs(want) > 0x1.fffff8p127f && !std::isinf(x[i]));
        ASSERT_TRUE(exact ? error_of(got[i], want, true) == 0 && (std::isnan(want) || got[i] == want)
                          : error_of(got[i], want, true) <= 2)
            << x[i] << " / " << divisor << ": " << got[i] << ", expected " << want << " for " << target.cpu().mcpu;
      }
    }
}

TEST(Division, ByARootIsWithinTwoUnits) {
  const std::vector<float> x = samples(64, 40961);
  for (const Target& target : runnable_targets())
    for (float square : {2.0f, 1e-5f, 3e7f, 0x1p-100f, 0x1p-140f, 0.0f, kInf}) {
      const std::vector<float> got = quotients(x, square, target, true);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(error_of(got[i], x[i] / std::sqrt(square), true), 2)
            << x[i] << " / sqrt(" << square << ") for " << target.cpu().mcpu;
    }
}

}  // namespace
}  // namespace whet
