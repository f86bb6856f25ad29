#include "runtime/process.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/testing/child.h"

namespace whet {
namespace process_test {

using testing::in_a_child;

TEST(ProcessNumber, StaysInTheProcessAndIsAnotherInEachChild) {
  const std::uint32_t own = process_number();
  EXPECT_NE(own, 0u);
  std::thread([&] { EXPECT_EQ(process_number(), own); }).join();
  EXPECT_EQ(in_a_child([&] { return process_number() - own; }), 1);
  EXPECT_EQ(in_a_child([&] { return process_number() == process_number(); }), 1);
  EXPECT_EQ(in_a_child([&] {
              process_number();
              return in_a_child([&] { return process_number() - own; });
            }),
            2);
  EXPECT_EQ(process_number(), own);
}

TEST(ForkLock, IsFreeInAChildWhoeverHadIt) {
  ForkLock lock;
  lock.lock();
  EXPECT_EQ(in_a_child([&] {
              lock.lock();
              return in_a_child([&] {
                lock.lock();
                lock.unlock();
                return 7;
              });
            }),
            7);
  lock.unlock();
  lock.lock();
}

TEST(ForkLock, LetsOneThreadInAtATime) {
  ForkLock lock;
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < 20000; ++i) {
      const Locked locked(lock);
      ++count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(count, 40000);
}

TEST(InUse, IsOneThreadsInEachProcess) {
  InUse use;
  ASSERT_TRUE(use.begin());
  EXPECT_FALSE(use.begin());
  EXPECT_EQ(in_a_child([&] { return use.begin() && !use.begin(); }), 1);
  use.end();
  EXPECT_TRUE(use.begin());
}

}  // namespace process_test
}  // namespace whet
