#include "lower/expand_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/rng.h"
#include "lower/cpu/passes.h"
#include "program/interpret.h"

namespace whet {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// y[i] = fn(x[i]) or fn(x[i], z[i]), eight at a time.
Program apply(MathFn fn, std::int64_t n, DType dtype = DType::f32) {
  Program p;
  p.name = "apply";
  const int inputs = fn == MathFn::pow ? 2 : 1;
  std::vector<Expr> args;
  const VarId i = p.fresh_var();
  const Expr at = ramp(var(i, "i") * 8, 1, 8);
  for (int k = 0; k < inputs; ++k) {
    const BufferId x = p.add({"x", dtype, {n}, Scope::argument, k, false, false});
    args.push_back(load(dtype, SourceId(x.value), {at}));
  }
  const BufferId y = p.add({"y", dtype, {n}, Scope::argument, inputs, false, true});
  const Stmt store = make_stmt(Store{y, {at}, call(fn, args), Expr()});
  p.body = make_stmt(Loop{i, "i", int_const(0), int_const(n / 8), LoopKind::serial, store});
  return p;
}

MathSupport with_vectors(int bytes) {
  CpuTarget cpu;
  cpu.vector_bytes = bytes;
  return math_support(cpu);
}

std::vector<float> run(MathFn fn, std::vector<std::vector<float>> inputs, MathSupport support = {}) {
  const std::size_t wanted = inputs[0].size();
  const auto n = static_cast<std::int64_t>((wanted + 7) / 8 * 8);
  std::vector<Tensor> arguments;
  for (std::vector<float>& input : inputs) {
    input.resize(static_cast<std::size_t>(n), 1);
    arguments.push_back(Tensor::of(DType::f32, {n}, input));
  }
  arguments.emplace_back(DType::f32, Shape{n});
  const Status status = interpret(expand_math(apply(fn, n), support), arguments);
  EXPECT_TRUE(status.ok()) << status.error().message;
  const auto result = arguments.back().as<float>();
  return {result.begin(), result.begin() + static_cast<std::ptrdiff_t>(wanted)};
}

/// Units in the last place of `want` between the two; results below the normal numbers may be flushed.
double ulps(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  const auto nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isinf(got)) {
    if (nearest == got) return 0;
    return std::isinf(nearest) && std::abs(got) == std::numeric_limits<float>::max() ? 1 : INFINITY;
  }
  if (std::abs(want) < 0x1p-126) return std::abs(got) <= 0x1p-126 ? 0 : INFINITY;
  const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
  return std::abs(static_cast<double>(got) - want) / unit;
}

using Function = std::function<double(double)>;

/// The worst error over evenly spread samples of [low, high] and as many spread over all exponents inside it.
double worst(MathFn fn, const Function& truth, double low, double high, int samples = 12000) {
  Rng rng(42);
  std::vector<float> x;
  for (int i = 0; i < samples; ++i) x.push_back(static_cast<float>(low + (high - low) * i / (samples - 1)));
  while (static_cast<int>(x.size()) < 2 * samples) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
    if (value >= low && value <= high && std::isnormal(value)) x.push_back(value);
    const double near = std::exp(rng.uniform(-12, 5)) * (rng.chance(0.5) ? 1 : -1);
    if (near >= low && near <= high) x.push_back(static_cast<float>(near));
  }
  const std::vector<float> y = run(fn, {x});
  double result = 0, where = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double error = ulps(y[i], truth(x[i])); error > result) result = error, where = x[i];
  EXPECT_LE(result, 4) << "at " << where;
  return result;
}

TEST(ExpandMath, IsWithinTwoUnitsOfExp) {
  EXPECT_LE(worst(MathFn::exp, [](double x) { return std::exp(x); }, -104, 90), 2);
  EXPECT_LE(worst(MathFn::exp, [](double x) { return std::exp(x); }, -1, 1), 2);
}

TEST(ExpandMath, IsWithinTwoUnitsOfLog) {
  EXPECT_LE(worst(MathFn::log, [](double x) { return std::log(x); }, 1e-38, 3e38), 2);
  EXPECT_LE(worst(MathFn::log, [](double x) { return std::log(x); }, 0.25, 4), 2);
}

TEST(ExpandMath, IsWithinThreeUnitsOfTanhAndFourOfSigmoid) {
  EXPECT_LE(worst(MathFn::tanh, [](double x) { return std::tanh(x); }, -12, 12), 3);
  EXPECT_LE(worst(MathFn::tanh, [](double x) { return std::tanh(x); }, -0.7, 0.7), 3);
  EXPECT_LE(worst(MathFn::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, 40), 4);
}

TEST(ExpandMath, IsWithinTwoUnitsOfErf) {
  EXPECT_LE(worst(MathFn::erf, [](double x) { return std::erf(x); }, -6, 6), 2);
  EXPECT_LE(worst(MathFn::erf, [](double x) { return std::erf(x); }, 0.9, 1.1), 2);
}

TEST(ExpandMath, IsWithinTwoUnitsOfSinAndCos) {
  EXPECT_LE(worst(MathFn::sin, [](double x) { return std::sin(x); }, -10, 10), 2);
  EXPECT_LE(worst(MathFn::cos, [](double x) { return std::cos(x); }, -10, 10), 2);
  EXPECT_LE(worst(MathFn::sin, [](double x) { return std::sin(x); }, -0x1p20, 0x1p20), 2);
  EXPECT_LE(worst(MathFn::cos, [](double x) { return std::cos(x); }, -0x1p20, 0x1p20), 2);
}

TEST(ExpandMath, IsWithinTwoUnitsOfRsqrt) {
  EXPECT_LE(worst(MathFn::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-38, 3e38), 2);
}

TEST(ExpandMath, IsWithinTwoUnitsOfPow) {
  Rng rng(5);
  std::vector<float> x, y;
  for (int i = 0; i < 12000; ++i) {
    x.push_back(static_cast<float>(std::exp(rng.uniform(-20, 20)) * (i % 8 == 0 ? -1 : 1)));
    y.push_back(static_cast<float>(i % 8 == 0 ? rng.between(-6, 6) : rng.uniform(-5, 5)));
  }
  for (int i = 0; i < 12000; ++i) {  // up to the largest and the smallest results, and bases near 1
    const double log =
        i % 2 == 0 ? rng.uniform(-87, 88) : std::ldexp(rng.uniform(-1, 1), -static_cast<int>(rng.between(1, 20)));
    x.push_back(static_cast<float>(std::exp(log)));
    y.push_back(static_cast<float>(rng.uniform(-88, 90) / log));
  }
  const std::vector<float> z = run(MathFn::pow, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 2) << x[i] << " " << y[i];
}

TEST(ExpandMath, KeepsTheSpecialValues) {
  const std::vector<float> x = {kInf, -kInf, kNan, 0.0f,  -0.0f, 1e-40f, 3e38f, -3e38f,
                                1,    -1,    87.f, 88.7f, 88.8f, -88.4f, -89.f, -103.f};
  const std::pair<MathFn, Function> functions[] = {
      {MathFn::exp, [](double v) { return std::exp(v); }},
      {MathFn::log, [](double v) { return std::log(v); }},
      {MathFn::tanh, [](double v) { return std::tanh(v); }},
      {MathFn::erf, [](double v) { return std::erf(v); }},
      {MathFn::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {MathFn::rsqrt, [](double v) { return 1 / std::sqrt(v); }},
      {MathFn::sin, [](double v) { return std::abs(v) < 0x1p30 ? std::sin(v) : NAN; }},
      {MathFn::cos, [](double v) { return std::abs(v) < 0x1p30 ? std::cos(v) : NAN; }},
  };
  for (const auto& [fn, truth] : functions) {
    const std::vector<float> y = run(fn, {x});
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(y[i], truth(x[i])), 4) << "function " << static_cast<int>(fn) << " of " << x[i] << " is " << y[i];
  }
}

TEST(ExpandMath, KeepsTheSpecialPowers) {
  const float values[] = {kInf, -kInf, kNan, 0.0f, -0.0f, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, 1e30f, -1e30f, 1e-30f};
  std::vector<float> x, y;
  for (float a : values)
    for (float b : values) x.push_back(a), y.push_back(b);
  const std::vector<float> z = run(MathFn::pow, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    EXPECT_LE(ulps(z[i], want), 2) << x[i] << " to the " << y[i] << " is " << z[i];
    if (!std::isnan(want)) {
      EXPECT_EQ(std::signbit(z[i]), std::signbit(want)) << x[i] << " to the " << y[i];
    }
  }
}

TEST(ExpandMath, RoundsWithoutAnInstruction) {
  std::vector<float> x = {kInf,  -kInf,  kNan, 0,    8388607.5f, -8388607.5f, 16777216.0f,
                          1e30f, -1e30f, 0.5f, 1.5f, 2.5f,       -0.5f};
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) x.push_back(static_cast<float>(rng.uniform(-100, 100)));
  for (int bytes : {16, 32}) {
    const MathSupport support = with_vectors(bytes);
    const std::vector<float> floors = run(MathFn::floor, {x}, support), ceils = run(MathFn::ceil, {x}, support),
                             rounds = run(MathFn::round, {x}, support);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(ulps(floors[i], std::floor(x[i])), 0) << x[i];
      EXPECT_EQ(ulps(ceils[i], std::ceil(x[i])), 0) << x[i];
      EXPECT_EQ(ulps(rounds[i], std::nearbyint(x[i])), 0) << x[i];
    }
  }
}

TEST(ExpandMath, KeepsTheSignOfZero) {
  const std::pair<MathFn, std::vector<float>> zeros[] = {{MathFn::tanh, {0.0f}},       {MathFn::erf, {0.0f}},
                                                         {MathFn::sin, {0.0f}},        {MathFn::floor, {0.0f}},
                                                         {MathFn::ceil, {0.0f, 0.5f}}, {MathFn::round, {0.0f, 0.5f}}};
  for (const auto& [fn, x] : zeros)
    for (float value : x)
      for (int bytes : {16, 32}) {
        const float zero = run(fn, {{-value}}, with_vectors(bytes))[0];
        EXPECT_EQ(zero, 0) << static_cast<int>(fn) << " of " << -value;
        EXPECT_TRUE(std::signbit(zero)) << static_cast<int>(fn) << " of " << -value;
      }
}

TEST(ExpandMath, RoundsDoublesWithoutAnInstruction) {
  const std::vector<double> x = {INFINITY,   -INFINITY, -0.0,  -0.5,  0.5, 1.5,  -1.5, 3e9,
                                 -3e9 - 0.5, 0x1p53,    1e300, -7.25, 7.0, -7.0, 0.0,  2.5};
  const auto n = static_cast<std::int64_t>(x.size());
  const std::pair<MathFn, Function> functions[] = {{MathFn::floor, [](double v) { return std::floor(v); }},
                                                   {MathFn::ceil, [](double v) { return std::ceil(v); }},
                                                   {MathFn::round, [](double v) { return std::nearbyint(v); }}};
  for (const auto& [fn, truth] : functions) {
    std::vector<Tensor> arguments = {Tensor::of<double>(DType::f64, {n}, x), Tensor(DType::f64, {n})};
    const Status status = interpret(expand_math(apply(fn, n, DType::f64), with_vectors(16)), arguments);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (std::int64_t i = 0; i < n; ++i) {
      const double got = arguments[1].get(i), want = truth(x[static_cast<std::size_t>(i)]);
      EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << got << " where " << want << " is right";
    }
  }
}

bool holds(const Program& p, MathFn fn) {
  bool found = false;
  for_each(p.body, {}, [&](const Expr& e) {
    for_each(e, [&](const Expr& part) {
      const auto* n = std::get_if<Call>(&part->kind);
      found |= n != nullptr && n->fn == fn;
    });
  });
  return found;
}

TEST(ExpandMath, LeavesWhatTheTargetHas) {
  EXPECT_TRUE(holds(expand_math(apply(MathFn::sqrt, 8), MathSupport{}), MathFn::sqrt));
  EXPECT_TRUE(holds(expand_math(apply(MathFn::exp, 8), MathSupport{.exp = true}), MathFn::exp));
  EXPECT_FALSE(holds(expand_math(apply(MathFn::exp, 8), MathSupport{}), MathFn::exp));
  EXPECT_TRUE(holds(expand_math(apply(MathFn::floor, 8), with_vectors(32)), MathFn::floor));
  EXPECT_FALSE(holds(expand_math(apply(MathFn::floor, 8), with_vectors(16)), MathFn::floor));
  for (MathFn fn : {MathFn::exp, MathFn::log, MathFn::rsqrt, MathFn::tanh, MathFn::erf, MathFn::sigmoid, MathFn::sin,
                    MathFn::cos, MathFn::pow})
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
      EXPECT_FALSE(holds(expand_math(apply(fn, 8, dtype), MathSupport{}), fn));
}

TEST(ExpandMath, ComputesWhatStandsTwiceOnce) {
  Program p = apply(MathFn::tanh, 8);
  const auto& loop = std::get<Loop>(p.body->kind);
  const auto& store = std::get<Store>(loop.body->kind);
  const auto with = [&](const Expr& value) {
    Program q = p;
    q.body = make_stmt(Loop{loop.index, "i", loop.min, loop.extent, LoopKind::serial,
                            make_stmt(Store{store.buffer, store.index, value, Expr()})});
    return to_text(expand_math(q, MathSupport{}));
  };
  const std::size_t once = with(store.value).size();
  EXPECT_LT(with(store.value * store.value + store.value).size(), once + 100);
}

TEST(ExpandMath, ReadsNothingThatASelectForbids) {
  Program p = apply(MathFn::exp, 8);
  const auto& loop = std::get<Loop>(p.body->kind);
  const auto& store = std::get<Store>(loop.body->kind);
  const Expr outside = load(DType::f32, SourceId(0), {ramp(int_const(1 << 20), 1, 8)});
  const Expr value = select(var(loop.index, "i") > int_const(5), call(MathFn::exp, {outside}), store.value);
  p.body = make_stmt(Loop{loop.index, "i", loop.min, loop.extent, LoopKind::serial,
                          make_stmt(Store{store.buffer, store.index, value, Expr()})});
  std::vector<Tensor> arguments = {Tensor(DType::f32, {8}), Tensor(DType::f32, {8})};
  const Status status = interpret(expand_math(p, MathSupport{}), arguments);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(arguments[1].get(7), 1);
}

/// The largest error of fn over `x` (and `y` for pow), relative to the result or, below `least`, to that.
double worst_double(MathFn fn, const std::vector<double>& x, const std::vector<double>& y,
                    const std::function<double(double, double)>& truth, double least = 0) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<Tensor> arguments = {Tensor::of(DType::f64, {n}, x)};
  if (fn == MathFn::pow) arguments.push_back(Tensor::of(DType::f64, {n}, y));
  arguments.emplace_back(DType::f64, Shape{n});
  const Status status = interpret(expand_math(apply(fn, n, DType::f64), MathSupport{}), arguments);
  EXPECT_TRUE(status.ok()) << status.error().message;
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double got = arguments.back().get(i), want = truth(x[k], y.empty() ? 0 : y[k]);
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    const double error = std::abs(got - want) / std::max(std::abs(want), std::max(least, 0x1p-1022));
    worst = std::isnan(error) ? kInf : std::max(worst, error);
  }
  return worst;
}

TEST(ExpandMath, ComputesDoublesToTheirLastDigits) {
  Rng rng(5);
  std::vector<double> x = {0, -0.0, kInf, -kInf, kNan, 1, -1, 5e-324, 1e308, -1e308, 709.7, 709.8, -745, -746, 2, 3};
  std::vector<double> positive = x, angles;
  while (x.size() < 4096) x.push_back(rng.uniform(-1, 1) * std::exp(rng.uniform(-20, 7)));
  while (positive.size() < 4096) positive.push_back(std::exp(rng.uniform(-700, 700)));
  while (angles.size() < 4096) angles.push_back(rng.uniform(-1e5, 1e5));
  EXPECT_LE(worst_double(MathFn::exp, x, {}, [](double a, double) { return std::exp(a); }), 1e-14);
  EXPECT_LE(worst_double(MathFn::log, positive, {}, [](double a, double) { return std::log(a); }), 1e-14);
  EXPECT_LE(worst_double(MathFn::tanh, x, {}, [](double a, double) { return std::tanh(a); }), 1e-14);
  EXPECT_LE(worst_double(MathFn::erf, x, {}, [](double a, double) { return std::erf(a); }), 1e-14);
  EXPECT_LE(worst_double(MathFn::sigmoid, x, {}, [](double a, double) { return 1 / (1 + std::exp(-a)); }), 1e-14);
  EXPECT_LE(worst_double(MathFn::sin, angles, {}, [](double a, double) { return std::sin(a); }, 1e-3), 1e-14);
  EXPECT_LE(worst_double(MathFn::cos, angles, {}, [](double a, double) { return std::cos(a); }, 1e-3), 1e-14);
  std::vector<double> bases, exponents;
  for (int i = 0; i < 4096; ++i) {
    bases.push_back(i % 3 == 0 ? static_cast<double>(rng.between(-4, 4)) : std::exp(rng.uniform(-20, 20)));
    exponents.push_back(i % 2 == 0 ? static_cast<double>(rng.between(-5, 5)) : rng.uniform(-30, 30));
  }
  EXPECT_LE(worst_double(MathFn::pow, bases, exponents, [](double a, double b) { return std::pow(a, b); }), 1e-12);
}

}  // namespace
}  // namespace whet
