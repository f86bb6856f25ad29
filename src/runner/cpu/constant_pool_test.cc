#include "runner/cpu/constant_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace whet {
namespace {

TEST(ConstantPool, GivesTheNextPlaceEachTimeAndStartsAgain) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(4096));
  const std::byte* start = pool.at_start({1})[0];
  std::vector<std::ptrdiff_t> offsets;
  for (int i = 0; i < 3; ++i) {
    const std::byte* places[2];
    pool.next({1000, 500}, places);
    offsets.push_back(places[0] - start);
    offsets.push_back(places[1] - start);
  }
  EXPECT_EQ(offsets, (std::vector<std::ptrdiff_t>{0, 1024, 1536, 2560, 0, 1024}));
}
TEST(ConstantPool, IsWalkedAsFarAsTheKernelAtHandAsksForAndNoFurther) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(1 << 20));
  ASSERT_TRUE(pool.reserve(4096));
  const std::byte* start = pool.at_start({1})[0];
  for (int i = 0; i < 9; ++i) {
    const std::byte* place = nullptr;
    pool.next({1024}, &place);
    EXPECT_EQ(place - start, i % 4 * 1024);
  }
}
TEST(ConstantPool, EndsAtAPageThatMayNotBeRead) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(4096));
  const auto place = reinterpret_cast<const volatile std::byte*>(pool.at_end({128})[0]);
  EXPECT_NE(static_cast<int>(place[127]), 0);
  EXPECT_DEATH((void)static_cast<int>(place[128]), "");
}
TEST(ConstantPool, IsLongEnoughThatAPlaceIsReadAgainBehindAsMuchAsTheNetworkTouches) {
  for (const std::size_t own : {64u, 4096u, 5120000u})
    for (const std::size_t network : {0u, 100000u, 9000000u, 24000000u}) {
      const std::size_t places = bytes_of_pool(own, network) / own;
      EXPECT_GE(places * own, network);
      EXPECT_GE(places, 1u);
      EXPECT_LT((places - 1) * own, std::max<std::size_t>(network, 1)) << "and no longer";
    }
}
TEST(ConstantPool, HoldsNumbersOfItsType) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(4096, DType::i8));
  const std::byte* start = pool.at_start({4096})[0];
  for (int i = 0; i < 4096; ++i) {
    const int number = static_cast<std::int8_t>(start[i]);
    ASSERT_TRUE(number != 0 && std::abs(number) <= 8) << i;
  }
}
TEST(ConstantPool, GrowsWhenMoreIsAskedFor) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(100));
  ASSERT_TRUE(pool.reserve(5 << 20));
  EXPECT_GE(pool.bytes(), std::size_t{5} << 20);
  EXPECT_NE(pool.at_end({64})[0][63], std::byte{0});
}

}  // namespace
}  // namespace whet
