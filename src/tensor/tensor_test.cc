#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "base/parallel.h"
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
TEST(Bf16, RoundTripsEveryValueAndKeepsNaNQuiet) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(float_to_bf16(value), std::isnan(value) ? bits | 0x40 : bits);
  }
}
TEST(Bf16, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_bf16(257.0f), float_to_bf16(256.0f));
  EXPECT_EQ(float_to_bf16(259.0f), float_to_bf16(260.0f));
  EXPECT_EQ(float_to_bf16(-3.4e38f), 0xff80);
  EXPECT_EQ(float_to_bf16(0x1p-133f), 1);
  EXPECT_EQ(float_to_bf16(0x1p-134f), 0);
}
TEST(DTypes, AreNamedAndNumberedInOrder) {
  int number = 0;
  for (const DType dtype : kDTypes) {
    EXPECT_EQ(static_cast<int>(dtype), number++);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(Tensor::of<int>(dtype, {2}, {1, 0}).get(0), 1);
  }
  EXPECT_EQ(number, 10);
}
TEST(Tensor, IsMadeOnceByWhoeverReadsItFirst) {
  int made = 0;
  const Tensor later = Tensor::later({DType::f32, {2, 3}}, [&] {
    ++made;
    return Tensor::of<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  });
  const Tensor copy = later, turned = later.reshaped({6});
  EXPECT_EQ(copy.type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(turned.get(4), 5);
  EXPECT_EQ(copy.get(5), 6);
  EXPECT_EQ(later.clone().get(0), 1);
  EXPECT_EQ(made, 1);
}
TEST(Tensor, MayBeMadeOfOneThatIsMadeLater) {
  const TensorType type{DType::i64, {2}};
  const Tensor first = Tensor::later(type, [&] { return Tensor::of<std::int64_t>(type.dtype, type.shape, {7, 8}); });
  const Tensor second = Tensor::later(type, [first] { return first; });
  EXPECT_EQ(second.integer(1), 8);
  EXPECT_EQ(second.data(), first.data());
}
TEST(Tensor, IsMadeOnceWhereThreadsReadAtTheSameTime) {
  std::atomic<int> made = 0;
  const Tensor later = Tensor::later({DType::f32, {1000}}, [&] { return ++made, Tensor(DType::f32, {1000}); });
  parallel_for(64, 8, [&](int i) { EXPECT_EQ(later.get(i), 0); });
  EXPECT_EQ(made, 1);
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
  const Tensor words = Tensor::of<double>(DType::i16, {3}, {40000, -40000, -7.9});
  EXPECT_EQ(words.integer(0), 32767);
  EXPECT_EQ(words.integer(1), -32768);
  EXPECT_EQ(words.get(2), -7);
}
TEST(HeldAs, TurnsTypesOf16BitsIntoThoseThatModelsTakeAndFloatsIntoBf16) {
  const Tensor words = Tensor::of<int>(DType::i16, {2}, {-3, 7}), floats = Tensor::of<double>(DType::f32, {1}, {257});
  EXPECT_EQ(held_as(words, DType::i32).dtype(), DType::i32);
  EXPECT_EQ(held_as(words, DType::i32).integer(0), -3);
  EXPECT_EQ(held_as(words, DType::i64).dtype(), DType::i16);
  EXPECT_EQ(held_as(floats, DType::bf16).get(0), 256);
  EXPECT_EQ(held_as(held_as(floats, DType::bf16), DType::f32).type(), floats.type());
  EXPECT_EQ(held_as(floats, DType::f16).dtype(), DType::f32);
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
