#include "runner/cpu/cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace whet {
namespace {

TEST(Cache, SharesCoverARangeOnceInWholeLines) {
  std::vector<std::byte> memory(1000);
  for (std::size_t bytes : {0, 1, 64, 65, 128, 1000}) {
    for (std::uint32_t workers : {1u, 2u, 3u, 7u}) {
      std::size_t next = 0;
      for (std::uint32_t w = 0; w < workers; ++w) {
        const MemoryRange share = share_of({memory.data(), bytes}, w, workers);
        EXPECT_EQ(share.data, memory.data() + next);
        next += share.bytes;
        EXPECT_TRUE(next % 64 == 0 || next == bytes);
      }
      EXPECT_EQ(next, bytes);
    }
  }
}
TEST(Cache, TouchingMemoryLeavesItsContents) {
  std::vector<std::byte> memory(1000, std::byte{7});
  rewrite({memory.data(), memory.size()});
  flush({memory.data(), memory.size()});
  for (std::byte b : memory) ASSERT_EQ(b, std::byte{7});
}

}  // namespace
}  // namespace whet
