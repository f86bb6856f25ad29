#include "ranges/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rng.h"
#include "compute/dag.h"

namespace whet {
namespace {

namespace fit_test {

std::vector<SizeValues> line(std::int64_t low, std::int64_t high, std::int64_t step = 1) {
  std::vector<SizeValues> points;
  for (std::int64_t n = low; n <= high; n += step) points.push_back({n});
  return points;
}
std::vector<SizeValues> grid(std::int64_t high, std::int64_t other) {
  std::vector<SizeValues> points;
  for (std::int64_t n = 1; n <= high; ++n)
    for (std::int64_t m = 1; m <= other; ++m) points.push_back({n, m});
  return points;
}

std::string text(const Expr& e) { return e.defined() ? to_text(e, std::function<std::string(SourceId)>()) : "none"; }

/// What is found for the values of `f`, after those of the others were looked for.
using Values = std::function<std::int64_t(const SizeValues&)>;
std::string found(const std::vector<SizeValues>& points, const Values& f, const std::vector<Values>& others = {}) {
  Fitter fitter(points[0].size() == 1 ? std::vector<std::string>{"n"} : std::vector<std::string>{"n", "m"}, points);
  const auto values = [&](const Values& of) {
    std::vector<std::int64_t> all;
    for (const SizeValues& point : points) all.push_back(of(point));
    return all;
  };
  for (const Values& other : others) fitter.simple(values(other));
  return text(fitter.composed(values(f)));
}

std::string found_float(const std::vector<SizeValues>& points, const std::function<double(const SizeValues&)>& f,
                        DType dtype = DType::f32) {
  Fitter fitter(points[0].size() == 1 ? std::vector<std::string>{"n"} : std::vector<std::string>{"n", "m"}, points);
  std::vector<double> values;
  for (const SizeValues& point : points)
    values.push_back(dtype == DType::f32 ? static_cast<float>(f(point)) : f(point));
  return text(fitter.floats(dtype, values));
}

}  // namespace fit_test

using namespace fit_test;

TEST(Fitter, FindsTheSimplestFormFirst) {
  const auto n40 = line(1, 40);
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return s[0]; }), "n");
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return s[0] - 1; }), "(n - 1)");
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return 3 * s[0] + 2; }), "((n*3) + 2)");
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return 50 - s[0]; }), "((n*-1) + 50)");
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return (s[0] + 1) / 2; }), "floordiv((n + 1), 2)");
  EXPECT_EQ(found(n40, [](const SizeValues& s) { return (3 * s[0] + 2) / 8; }), "floordiv(((n*3) + 2), 8)");
  EXPECT_EQ(found(line(64, 320, 32), [](const SizeValues& s) { return s[0] / 32; }), "floordiv(n, 32)");
}

/// At odd sizes floordiv(n, 2) would be right too, and nobody could prove that 3 rows at 2*y are inside.
TEST(Fitter, TakesTheQuotientThatKeepsWindowsInside) {
  const auto odd = line(31, 127, 16);
  EXPECT_EQ(found(odd, [](const SizeValues& s) { return (s[0] - 3) / 2 + 1; }), "floordiv((n - 1), 2)");
  EXPECT_EQ(found(odd, [](const SizeValues& s) { return (s[0] - 3) / 2; }), "floordiv((n - 3), 2)");
  EXPECT_EQ(found(odd, [](const SizeValues& s) { return (s[0] + 1) / 2; }), "floordiv((n + 1), 2)");
  EXPECT_EQ(found(line(32, 320, 32), [](const SizeValues& s) { return s[0] / 32 - 1; }), "floordiv((n - 32), 32)");
}

TEST(Fitter, FindsFormsOfTwoSizes) {
  const auto points = grid(7, 9);
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] * 2 + s[1] + 5; }), "(((n*2) + m) + 5)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[1] / 4; }), "floordiv(m, 4)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] * s[1]; }), "(n*m)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return 64 * s[0] * s[1]; }), "((n*m)*64)");
}

TEST(Fitter, BuildsOnFunctionsThatItFound) {
  const auto points = line(1, 40);
  const Values half = [](const SizeValues& s) { return s[0] / 2; };
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] / 2 * 6 + 1; }, {half}), "((floordiv(n, 2)*6) + 1)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] / 2 * (s[0] / 2); }, {half}),
            "(floordiv(n, 2)*floordiv(n, 2))");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] * s[0]; }), "(n*n)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] + s[0] / 2 * 2; }, {half}), "(n + (floordiv(n, 2)*2))");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return std::min<std::int64_t>(s[0], 16); }), "min(n, 16)");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return std::max<std::int64_t>(s[0], 16); }), "max(n, 16)");
}

TEST(Fitter, FindsNothingWhereOneValueIsAnother) {
  const auto points = line(1, 40);
  for (std::int64_t bad = 1; bad <= 40; ++bad) {
    EXPECT_EQ(found(points, [&](const SizeValues& s) { return 3 * s[0] + (s[0] == bad ? 1000 : 0); }), "none") << bad;
  }
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] * s[0] * s[0]; }), "none");
  EXPECT_EQ(found(points, [](const SizeValues& s) { return s[0] % 3; }), "none");
}

TEST(Fitter, FindsFloats) {
  const auto points = line(1, 40);
  EXPECT_EQ(found_float(points, [](const SizeValues& s) { return static_cast<double>(s[0]); }), "f32(n)");
  EXPECT_EQ(found_float(points, [](const SizeValues& s) { return 1.0 / static_cast<double>(s[0]); }), "(1f/f32(n))");
  EXPECT_EQ(found_float(points, [](const SizeValues& s) { return 0.5 * static_cast<double>(s[0]); }), "(f32(n)*0.5f)");
  const auto two = grid(7, 9);
  EXPECT_EQ(found_float(two, [](const SizeValues& s) { return 1.0 / static_cast<double>(s[0] * s[1]); }),
            "(1f/f32((n*m)))");
  EXPECT_EQ(found_float(two, [](const SizeValues& s) { return static_cast<double>(s[0]) / static_cast<double>(s[1]); }),
            "(f32(n)/f32(m))");
  EXPECT_EQ(found_float(points, [](const SizeValues& s) { return std::sqrt(static_cast<double>(s[0])); }), "none");
  EXPECT_EQ(found_float(points, [](const SizeValues& s) { return s[0] == 17 ? 0.1 : 1.0 / static_cast<double>(s[0]); }),
            "none");
}

/// Whatever is found has the values that it was found for.
TEST(Fitter, IsRightAtAllPointsOrGivesNothing) {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    const bool two = rng.chance(0.4);
    const auto points = two ? grid(rng.between(1, 6), rng.between(1, 6)) : line(rng.between(1, 9), rng.between(9, 40));
    Fitter fitter(two ? std::vector<std::string>{"n", "m"} : std::vector<std::string>{"n"}, points);
    for (int number = 0; number < 6; ++number) {
      const std::int64_t a = rng.between(-5, 9), b = rng.between(-20, 20), c = rng.between(1, 9);
      const bool noisy = rng.chance(0.3);
      std::vector<std::int64_t> values;
      std::vector<double> reals;
      for (const SizeValues& point : points) {
        values.push_back(floor_div(a * point.back() + b, c) * (number > 2 ? point[0] : 1) + (noisy ? rng.below(2) : 0));
        reals.push_back(static_cast<float>(static_cast<double>(b) / static_cast<double>(point[0] + number)));
      }
      const Expr function = number % 2 == 0 ? fitter.simple(values) : fitter.composed(values);
      const Expr real = fitter.floats(DType::f32, reals);
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (function.defined()) {
          ASSERT_EQ(value_at(function, points[i]), values[i]) << text(function);
        }
        if (real.defined()) {
          ASSERT_TRUE(close(DType::f32, float_at(real, points[i]), reals[i])) << text(real);
        }
      }
    }
  }
}

}  // namespace
}  // namespace whet
