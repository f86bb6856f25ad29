#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "codegen/testing/builder.h"
#include "codegen/testing/native.h"
#include "lower/expand_math.h"

namespace whet {
namespace {

constexpr std::int64_t kSamples = 1 << 17;

/// Every 32771st float of all bit patterns, and as many in [-8, 8].
Tensor samples() {
  Tensor x(DType::f32, {kSamples});
  const auto values = x.as<float>();
  for (std::int64_t i = 0; i < kSamples / 2; ++i) {
    values[static_cast<std::size_t>(i)] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2 * 32771));
    values[static_cast<std::size_t>(kSamples / 2 + i)] =
        static_cast<float>(-8 + 16.0 * static_cast<double>(i) / (kSamples / 2));
  }
  return x;
}

/// Whether `got` is within `limit` units in the last place; subnormal arguments and results may count as zero.
bool near(float got, double want, double limit) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::abs(want) < 0x1p-126) return std::abs(got) <= 0x1p-126;
  if (std::abs(want) > 3.4028235e38) return std::abs(got) > 3.4028234e38 && std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= limit * std::ldexp(1.0, std::ilogb(want) - 23);
}

void check(MathFn fn, double limit, const std::function<double(double)>& truth) {
  for (const Target& target : runnable_targets()) {
    const int lanes = target.lanes(4);
    Builder b("math");
    const BufferId x = b.input(kSamples), y = b.output(kSamples);
    b.p.body = b.loop(kSamples / lanes, [&](Expr i) {
      const Expr at = ramp(i * lanes, 1, lanes);
      return b.put(y, at, call(fn, {b.at(x, at)}));
    });
    const Tensor input = samples();
    const Result<std::vector<Tensor>> got =
        run_native(expand_math(b.p, target), target, {input, Tensor(DType::f32, {kSamples})});
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::int64_t i = 0; i < kSamples; ++i)
      ASSERT_TRUE(near(static_cast<float>(got.value()[1].get(i)), truth(input.get(i)), limit))
          << target.mcpu << ": at " << input.get(i) << " got " << got.value()[1].get(i) << ", expected "
          << truth(input.get(i));
  }
}

TEST(NativeMath, IsWithinItsBounds) {
  check(MathFn::exp, 2, [](double x) { return std::exp(x); });
  check(MathFn::log, 2, [](double x) { return std::log(x); });
  check(MathFn::tanh, 2, [](double x) { return std::tanh(x); });
  check(MathFn::erf, 2, [](double x) { return std::erf(x); });
  check(MathFn::sigmoid, 4, [](double x) { return 1 / (1 + std::exp(-x)); });
  check(MathFn::rsqrt, 2, [](double x) { return 1 / std::sqrt(x); });
}

TEST(NativeMath, RoundsExactly) {
  check(MathFn::floor, 0, [](double x) { return std::floor(x); });
  check(MathFn::ceil, 0, [](double x) { return std::ceil(x); });
  check(MathFn::round, 0, [](double x) { return std::nearbyint(x); });
  check(MathFn::sqrt, 0.5, [](double x) { return std::sqrt(x); });
}

}  // namespace
}  // namespace whet
