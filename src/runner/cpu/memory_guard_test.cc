#include "runner/cpu/memory_guard.h"

#include <gtest/gtest.h>

#include <cstring>

namespace whet {
namespace {

TEST(GuardedBuffer, EndsAtAPageThatMayNotBeTouched) {
  GuardedBuffer buffer(4096, "output 0");
  ASSERT_TRUE(buffer.ok());
  std::memset(buffer.data(), 1, 4096);
  EXPECT_DEATH(buffer.data()[4096] = std::byte{1}, "");
  EXPECT_DEATH(buffer.data()[-65536] = std::byte{1}, "");
}
TEST(GuardedBuffer, IsAlignedForEverySize) {
  for (std::size_t bytes : {0, 1, 63, 64, 65, 4095, 4096, 4097, 100000})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(GuardedBuffer(bytes, "x").data()) % 64, 0u) << bytes;
}
TEST(GuardedBuffer, SeesStoresIntoWhatAlignmentLeavesFree) {
  GuardedBuffer buffer(100, "output 0");
  buffer.poison();
  EXPECT_EQ(buffer.damage(), "");
  buffer.data()[101] = std::byte{1};
  EXPECT_EQ(buffer.damage(), "it wrote 1 bytes beyond the end of output 0");
  buffer.poison();
  buffer.data()[-8] = std::byte{1};
  EXPECT_EQ(buffer.damage(), "it wrote 8 bytes before output 0");
  buffer.poison();
  EXPECT_EQ(buffer.damage(), "");
}
TEST(GuardedBuffer, CanBeReadOnly) {
  GuardedBuffer buffer(8, "input 0");
  buffer.set_writable(false);
  EXPECT_DEATH(buffer.data()[0] = std::byte{1}, "");
  buffer.set_writable(true);
  buffer.data()[0] = std::byte{1};
}
TEST(GuardedBuffer, SaysWhereAnAddressLies) {
  GuardedBuffer buffer(4096, "output 0");
  const auto at = [&](std::ptrdiff_t offset) {
    char text[80];
    return std::string(
        text, buffer.describe(reinterpret_cast<std::uintptr_t>(buffer.data()) + static_cast<std::uintptr_t>(offset),
                              text, sizeof text));
  };
  EXPECT_EQ(at(4100), "4 bytes beyond the end of output 0");
  EXPECT_EQ(at(-12), "12 bytes before output 0");
  EXPECT_EQ(at(40), "40 bytes into read-only output 0");
  EXPECT_EQ(at(1 << 30), "");
}

}  // namespace
}  // namespace whet
