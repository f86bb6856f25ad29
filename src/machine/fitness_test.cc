#include "machine/fitness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/testing/fake_system.h"

namespace whet {
namespace {

using Verdict = Finding::Verdict;

/// Two cores of a machine of one's own, well set up and idle.
Conditions good_machine() {
  Conditions c;
  c.cpus = {0, 1};
  c.governors = {"performance", "performance"};
  c.turbo = false;
  c.available_bytes = std::int64_t{16} << 30;
  c.huge_pages = "madvise";
  c.round_trip_ns = 60;
  return c;
}
Finding finding(const Conditions& c, const std::string& what) {
  const std::vector<Finding> all = judge(c);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.what == what; });
  return found == all.end() ? Finding{Verdict::good, "nothing is called " + what, "", ""} : *found;
}

TEST(Fitness, OfAWellSetUpIdleMachineIsGoodInEveryPoint) {
  for (const Finding& f : judge(good_machine())) {
    EXPECT_EQ(f.verdict, Verdict::good) << f.what << ": " << f.found;
    EXPECT_EQ(f.advice, "") << f.what;
  }
}
TEST(Fitness, BlamesAGovernorThatFollowsTheLoad) {
  Conditions c = good_machine();
  c.governors = {"performance", "powersave"};
  EXPECT_EQ(finding(c, "governor").verdict, Verdict::bad);
  EXPECT_EQ(finding(c, "governor").found, "performance, powersave on processors 0,1");
}
TEST(Fitness, WarnsOfTurboAndOfSiblings) {
  Conditions c = good_machine();
  c.turbo = true;
  c.siblings = {2, 3};
  EXPECT_EQ(finding(c, "turbo").verdict, Verdict::beware);
  EXPECT_EQ(finding(c, "SMT").verdict, Verdict::beware);
  EXPECT_EQ(finding(c, "SMT").found, "processors 2,3 share cores with processors 0,1");
}
TEST(Fitness, OfOtherProgramsDependsOnWhatTheyTake) {
  Conditions c = good_machine();
  c.busy_by_others = 0.05;
  EXPECT_EQ(finding(c, "load").verdict, Verdict::beware);
  c.busy_by_others = 0.5;
  EXPECT_EQ(finding(c, "load").verdict, Verdict::bad);
  EXPECT_EQ(finding(c, "load").found, "other programs took 50% of processors 0,1");
}
TEST(Fitness, OfAVirtualMachineIsNeverBeyondDoubt) {
  Conditions c = good_machine();
  c.is_virtual = true;
  EXPECT_EQ(finding(c, "host").verdict, Verdict::beware);
  c.stolen = 0.2;
  EXPECT_EQ(finding(c, "host").verdict, Verdict::bad);
}
TEST(Fitness, DependsOnTheSpeedOfTheSameWork) {
  Conditions c = good_machine();
  c.slowest_of_peak = 0.9;
  EXPECT_EQ(finding(c, "speed").verdict, Verdict::beware);
  c.slowest_of_peak = 0.4;
  EXPECT_EQ(finding(c, "speed").verdict, Verdict::bad);
}
TEST(Fitness, KnowsTheLimitsOfAContainer) {
  Conditions c = good_machine();
  c.quota = 1.5;
  EXPECT_EQ(finding(c, "quota").verdict, Verdict::bad);
  EXPECT_EQ(finding(c, "quota").found, "cgroups allow 1.5 processors' worth of time, kernels use 2");
  c.quota = 2;
  EXPECT_EQ(finding(c, "quota").verdict, Verdict::good);
  c.available_bytes = 500 << 20;
  EXPECT_EQ(finding(c, "memory").verdict, Verdict::beware);
}

TEST_F(FakeSystem, ConditionsAreReadWhereTheKernelWritesThem) {
  write("cpu/online", "0-3");
  for (int id : {0, 1, 2, 3}) {
    add_cpu(id, id / 2, 1024);
    write("cpu/cpu" + std::to_string(id) + "/cpufreq/scaling_governor", "powersave");
  }
  write("cpu/intel_pstate/no_turbo", "0");
  write("proc/cpuinfo", "processor : 0\nflags : fpu sse hypervisor avx2\n");
  write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    2048 kB\n");
  write("huge_pages", "always madvise [never]");
  write("own_cgroup", "0::/service");
  write("cgroup/cpu.max", "150000 100000");
  write("cgroup/service/memory.max", "1048576");
  const Conditions c = read_conditions({0, 2}, paths_);
  EXPECT_EQ(c.governors, (std::vector<std::string>{"powersave", "powersave"}));
  EXPECT_EQ(c.turbo, true);
  EXPECT_EQ(c.siblings, (std::vector<int>{1, 3}));
  EXPECT_TRUE(c.is_virtual);
  EXPECT_EQ(c.quota, 1.5);
  EXPECT_EQ(c.available_bytes, 1 << 20);
  EXPECT_EQ(c.huge_pages, "never");
}
TEST_F(FakeSystem, ConditionsThatTheKernelDoesNotTellAreAbsent) {
  write("cpu/online", "0");
  write("huge_pages", "garbage ] [");
  write("proc/meminfo", "MemAvailable: much");
  const Conditions c = read_conditions({0}, paths_);
  EXPECT_TRUE(c.governors.empty());
  EXPECT_FALSE(c.turbo);
  EXPECT_FALSE(c.is_virtual);
  EXPECT_EQ(c.available_bytes, 0);
  EXPECT_FALSE(c.huge_pages);
  for (const Finding& f : judge(c)) EXPECT_EQ(f.verdict, Verdict::good) << f.what;
}

}  // namespace
}  // namespace whet
