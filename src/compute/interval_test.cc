#include "compute/interval.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "compute/scalar.h"

namespace whet {
namespace {

constexpr std::int64_t kReach = 12;  ///< infinite ends are tried as far as this

Interval random_interval(Rng& rng) {
  const std::int64_t a = rng.between(-5, 5), b = a + rng.between(0, 5);
  return {rng.chance(0.2) ? Interval::End() : a, rng.chance(0.2) ? Interval::End() : b};
}

std::vector<std::int64_t> integers_of(const Interval& x) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = x.min.value_or(-kReach); i <= x.max.value_or(kReach); ++i) all.push_back(i);
  return all;
}

TEST(Interval, ContainsTheResultsOfItsIntegers) {
  Rng rng(1);
  for (int n = 0; n < 2000; ++n) {
    const Interval a = random_interval(rng), b = random_interval(rng);
    const Interval c = n % 2 == 0 ? Interval::point(rng.between(-4, 4)) : b;
    for (const BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::floordiv, BinaryOp::floormod,
                              BinaryOp::min, BinaryOp::max})
      for (const std::int64_t x : integers_of(a))
        for (const std::int64_t y : integers_of(c)) {
          const std::optional<std::int64_t> value = apply(op, x, y, DType::i64);
          ASSERT_TRUE(!value || Interval::point(*value).inside(binary(op, a, c))) << x << " " << y;
        }
    ASSERT_TRUE(a.inside(hull(a, b)) && b.inside(hull(a, b)));
  }
}

TEST(Interval, OfSumsAndMultiplesIsExact) {
  EXPECT_EQ((Interval{1, 3} + Interval{-2, 5}), (Interval{-1, 8}));
  EXPECT_EQ((Interval{1, 3} * -2), (Interval{-6, -2}));
  EXPECT_EQ((Interval{1, {}} * 0), Interval::point(0));
  EXPECT_EQ((-Interval{{}, 3}), (Interval{-3, {}}));
  EXPECT_EQ((Interval{-2, 3} * Interval{-5, 4}), (Interval{-15, 12}));
  EXPECT_EQ(floordiv(Interval{-3, 7}, 4), (Interval{-1, 1}));
  EXPECT_EQ(floormod(Interval{5, 7}, 4), (Interval{1, 3}));
  EXPECT_EQ(floormod(Interval{3, 7}, 4), (Interval{0, 3}));
}

TEST(Interval, IsInfiniteWhereAnEndOverflows) {
  EXPECT_EQ((Interval{0, INT64_MAX} + Interval{0, 1}), (Interval{0, {}}));
  EXPECT_EQ((Interval{INT64_MIN / 2, 1} * 3), (Interval{{}, 3}));
}

TEST(Interval, OfADtypeHoldsItsIntegers) {
  EXPECT_EQ(Interval::of(DType::u8), (Interval{0, 255}));
  EXPECT_EQ(Interval::of(DType::i64), Interval{});
  EXPECT_TRUE((Interval{-128, 0}.inside(Interval::of(DType::i8))));
  EXPECT_FALSE((Interval{{}, 0}.inside(Interval::of(DType::i8))));
}

TEST(Interval, OfADivisionByZeroOrByAVariableIsUnknown) {
  EXPECT_EQ(floordiv(Interval{1, 2}, 0), Interval{});
  EXPECT_EQ(floormod(Interval{1, 2}, 0), Interval{});
  EXPECT_EQ(binary(BinaryOp::floordiv, {8, 9}, {1, 2}), Interval{});
}

}  // namespace
}  // namespace whet
