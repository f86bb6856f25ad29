#include "runner/cpu/constant_pool.h"

#include <gtest/gtest.h>

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
TEST(ConstantPool, EndsAtAPageThatMayNotBeRead) {
  ConstantPool pool;
  ASSERT_TRUE(pool.reserve(4096));
  const auto place = reinterpret_cast<const volatile std::byte*>(pool.at_end({128})[0]);
  EXPECT_NE(static_cast<int>(place[127]), 0);
  EXPECT_DEATH((void)static_cast<int>(place[128]), "");
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
