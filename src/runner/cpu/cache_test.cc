#include "runner/cpu/cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

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
TEST(Cache, AWorkerRewritesItsOwnPagesAlone) {
  constexpr std::size_t kPage = 4096;
  if (sysconf(_SC_PAGESIZE) != kPage) GTEST_SKIP() << "pages are of another size";
  void* mapped = mmap(nullptr, 6 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const MemoryRange whole{static_cast<std::byte*>(mapped), 6 * kPage};
  for (const std::size_t page : {1, 4})
    for (const std::size_t other : {0, 2, 3, 5}) {
      mprotect(whole.data + page * kPage, kPage, PROT_READ | PROT_WRITE);
      mprotect(whole.data + other * kPage, kPage, PROT_READ);
    }
  rewrite_pages(whole, 1, 3);
  for (const std::uint32_t other : {0, 2}) EXPECT_DEATH(rewrite_pages(whole, other, 3), "");
  mprotect(whole.data + 4 * kPage, kPage, PROT_READ);
  EXPECT_DEATH(rewrite_pages(whole, 1, 3), "") << "and all of them";
  munmap(mapped, whole.bytes);
}
TEST(Cache, TouchingMemoryLeavesItsContents) {
  std::vector<std::byte> memory(1000, std::byte{7});
  rewrite_pages({memory.data(), memory.size()}, 0, 1);
  rewrite({memory.data(), memory.size()});
  flush({memory.data(), memory.size()});
  for (std::byte b : memory) ASSERT_EQ(b, std::byte{7});
}

}  // namespace
}  // namespace whet
