#include "runtime/cpu/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

namespace whet {
namespace {

std::vector<std::uint32_t> list(const char* text) {
  std::vector<std::uint32_t> numbers;
  for_each_core(text, [&](std::uint32_t core) { numbers.push_back(core); });
  return numbers;
}

TEST(CoreList, ReadsRangesAndNumbers) {
  EXPECT_EQ(list("0-3,8\n"), (std::vector<std::uint32_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(list("5"), (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(list(""), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(list("\n"), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(list("3-1"), (std::vector<std::uint32_t>{}));
}

TEST(CoreList, EndsBelowTheMostCores) { EXPECT_EQ(list("1022-5000,3"), (std::vector<std::uint32_t>{1022, 1023, 3})); }

TEST(CpuMax, IsQuotaOverPeriod) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2.0);
  EXPECT_EQ(parse_cpu_max("150000 100000"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000"), 0.0);
  EXPECT_EQ(parse_cpu_max(""), 0.0);
  EXPECT_EQ(parse_cpu_max("100000 0"), 0.0);
}

TEST(UsableCores, AreAmongThoseOfTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  UsableCores cores;
  find_usable_cores(&cores);
  ASSERT_GE(cores.count, 1u);
  EXPECT_EQ(cores.allowed, static_cast<std::uint32_t>(CPU_COUNT(&mask)));
  EXPECT_LE(cores.count, cores.allowed);
  for (std::uint32_t i = 0; i < cores.count; ++i) {
    EXPECT_TRUE(CPU_ISSET(cores.core[i], &mask));
    EXPECT_TRUE(i == 0 || cores.core[i - 1] < cores.core[i]);
  }
}

TEST(UsableCores, ShrinkWithTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &before)) last = core;
  }
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  UsableCores cores;
  find_usable_cores(&cores);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(cores.count, 1u);
  EXPECT_EQ(cores.core[0], static_cast<std::uint32_t>(last));
}

}  // namespace
}  // namespace whet
