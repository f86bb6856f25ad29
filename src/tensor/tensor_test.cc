#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/compare.h"
#include "tensor/tensor.h"

namespace whet {
namespace {

TEST(Half, RoundTripsEveryFiniteValue) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
}
TEST(Half, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(2049.0f), float_to_half(2048.0f));
  EXPECT_EQ(float_to_half(2051.0f), float_to_half(2052.0f));
  EXPECT_EQ(float_to_half(1e6f), 0x7c00);
}
TEST(Tensor, KeepsIntegersExactly) {
  Tensor t(DType::i64, {1});
  t.set_integer(0, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(t.integer(0), std::numeric_limits<std::int64_t>::max());
}
TEST(Tensor, OfIntegersTakesTheNearestOfNumbersThatDoNotFit) {
  Tensor t(DType::i64, {4}), bytes(DType::u8, {2});
  const double values[] = {-1.1e20, 1e300, std::numeric_limits<double>::quiet_NaN(), -7.9};
  for (std::int64_t i = 0; i < 4; ++i) t.set(i, values[i]);
  EXPECT_EQ(t.integer(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(t.integer(1), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(t.integer(2), 0);
  EXPECT_EQ(t.integer(3), -7);
  bytes.set(0, 300);
  bytes.set(1, -1);
  EXPECT_EQ(bytes.integer(0), 255);
  EXPECT_EQ(bytes.integer(1), 0);
}
TEST(Tensor, IsAlignedTo64BytesAndZeroFilled) {
  Tensor t(DType::f32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0u);
  EXPECT_EQ(t.get(14), 0);
}
TEST(Compare, NamesTheWorstElement) {
  auto want = Tensor::of<double>(DType::f32, {3}, {1, -4, 2}), got = Tensor::of<double>(DType::f32, {3}, {1, -4, 2.5});
  const Difference d = compare(got, want, 0.01);
  EXPECT_EQ(d.where, 2);
  EXPECT_DOUBLE_EQ(d.relative, 0.125);
  EXPECT_EQ(d.mismatches, 1);
}
TEST(Compare, TreatsANanAgainstANumberAsInfinitelyWrong) {
  auto want = Tensor::of<double>(DType::f32, {1}, {1}), got = Tensor::of<double>(DType::f32, {1}, {std::nan("")});
  EXPECT_TRUE(std::isinf(compare(got, want).max_abs));
}

}  // namespace
}  // namespace whet
