#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/bandwidth.h"
#include "machine/cores.h"
#include "machine/detect.h"
#include "machine/placement.h"
#include "machine/processor.h"
#include "machine/stolen.h"
#include "machine/testing/fake_system.h"
#include "machine/together.h"
#include "machine/topology.h"

namespace whet {
namespace {

constexpr IsaSet kAvx2 = isa_set("sse4.2", "popcnt", "avx", "avx2", "fma", "bmi2", "f16c");
constexpr IsaSet kAvx512 = kAvx2 | isa_set("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
constexpr IsaSet kNewAvx512 = kAvx512 | isa_set("avx512vnni", "avx512vbmi2", "avx512bf16", "adx");

TEST(LlvmName, FollowsFeaturesWhereAVirtualMachineLiesAboutTheModel) {
  EXPECT_EQ(llvm_name({"GenuineIntel", 6, 167, kNewAvx512 | isa_set("avx512fp16", "amx-tile"), ""}), "sapphirerapids");
  EXPECT_EQ(llvm_name({"GenuineIntel", 6, 167, kNewAvx512 | isa_set("avx512fp16"), ""}), "sapphirerapids");
  EXPECT_EQ(llvm_name({"GenuineIntel", 6, 143, kAvx2, ""}), "haswell");
}
TEST(LlvmName, KnowsTheZenFamilies) {
  EXPECT_EQ(llvm_name({"AuthenticAMD", 26, 2, kNewAvx512, ""}), "znver5");
  EXPECT_EQ(llvm_name({"AuthenticAMD", 25, 17, kNewAvx512, ""}), "znver4");
  EXPECT_EQ(llvm_name({"AuthenticAMD", 25, 1, kAvx2 | isa_set("adx"), ""}), "znver3");
  EXPECT_EQ(llvm_name({"AuthenticAMD", 23, 0x31, kAvx2 | isa_set("adx"), ""}), "znver2");
  EXPECT_EQ(llvm_name({"AuthenticAMD", 26, 2, kAvx2, ""}), "x86-64-v3");
}
TEST(LlvmName, FallsBackToALevelOfTheBaseline) {
  EXPECT_EQ(llvm_name({"SomeVendor", 1, 1, kAvx512, ""}), "x86-64-v4");
  EXPECT_EQ(llvm_name({"SomeVendor", 1, 1, isa_set("sse4.2", "popcnt"), ""}), "x86-64-v2");
  EXPECT_EQ(llvm_name({}), "x86-64");
}

TEST(CpuList, ReadsAndWritesTheKernelsNotation) {
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(cpu_list_text({0, 1, 2, 5, 7, 8}), "0-2,5,7,8");
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("a-b").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999999").empty());
}

TEST_F(FakeSystem, SmtSiblingsAndLittleCoresAreTold) {
  write("cpu/online", "0-5");
  for (int id : {0, 1}) add_cpu(id, 0, 1024);
  for (int id : {2, 3}) add_cpu(id, 1, 1000);
  for (int id : {4, 5}) add_cpu(id, id, 500);
  const auto machine = read_topology(paths_);
  const std::vector<int> all = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(choose_cores("", 0, machine, all, 0)->cpus, (std::vector<int>{0, 2}));
  EXPECT_EQ(choose_cores("little", 0, machine, all, 0)->cpus, (std::vector<int>{4, 5}));
  EXPECT_EQ(choose_cores("1,3-4", 0, machine, all, 0)->cpus, (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(choose_cores("", 0, machine, {1, 5}, 0)->cpus, (std::vector<int>{1}));
  EXPECT_EQ(choose_cores("", 0, machine, {5}, 0)->cpus, (std::vector<int>{5}));
  EXPECT_TRUE(choose_cores("", 0, machine, all, 0)->mixed);
}
/// Cores 0, 1, ... of an AArch64 machine, by MIDR and strength.
std::vector<LogicalCpu> arm(const std::vector<std::pair<std::uint32_t, int>>& cores) {
  std::vector<LogicalCpu> machine;
  for (const auto& [midr, strength] : cores) {
    LogicalCpu cpu;
    cpu.id = cpu.core = static_cast<int>(machine.size());
    cpu.midr = midr, cpu.strength = strength, cpu.little = strength < 819;
    machine.push_back(cpu);
  }
  mark_clusters(machine);
  return machine;
}
std::string kinds(const std::vector<LogicalCpu>& machine) {
  std::string text;
  for (const LogicalCpu& cpu : machine) text += cpu.prime ? 'p' : cpu.little ? 'l' : 'b';
  return text;
}
TEST(Clusters, OfAnArmMachineArePrimeBigAndLittle) {
  constexpr std::uint32_t kX1 = 0x410fd440, kA76 = 0x410fd0b0, kA55 = 0x410fd050, kA510 = 0x410fd460;
  EXPECT_EQ(kinds(arm({{kA55, 160}, {kA55, 160}, {kA76, 620}, {kA76, 620}, {kX1, 1024}})), "llbbp");
  EXPECT_EQ(kinds(arm({{kA55, 250}, {kA76, 870}, {kA76, 1024}})), "lbp") << "one MIDR, two clocks";
  EXPECT_EQ(kinds(arm({{kA55, 400}, {kA76, 1024}, {kA76, 1000}})), "lbb") << "as on a Rockchip RK3588";
  EXPECT_EQ(kinds(arm({{kA76, 900}, {kX1, 1024}})), "bp") << "no core is clearly weaker";
  EXPECT_EQ(kinds(arm({{kA510, 300}, {kA55, 350}, {kA76, 620}, {kX1, 1024}})), "lbbp");
  EXPECT_EQ(kinds(arm({{kA76, 1024}, {kA76, 1024}})), "bb");
  EXPECT_EQ(kinds(arm({{0, 500}, {0, 870}, {0, 1024}})), "lbb") << "no MIDR: no cluster is told from another";
}
TEST(Clusters, AreChosenByTheirNames) {
  const auto machine = arm({{1, 160}, {1, 160}, {2, 620}, {2, 620}, {3, 1024}});
  const std::vector<int> all = {0, 1, 2, 3, 4};
  EXPECT_EQ(choose_cores("prime", 0, machine, all, 0)->cpus, (std::vector<int>{4}));
  EXPECT_EQ(choose_cores("prime", 0, machine, all, 0)->kind, CoreKind::prime);
  EXPECT_EQ(choose_cores("big", 0, machine, all, 0)->cpus, (std::vector<int>{2, 3}));
  EXPECT_EQ(choose_cores("", 0, machine, all, 0)->cpus, (std::vector<int>{2, 3}));
  EXPECT_EQ(choose_cores("", 0, machine, {0, 4}, 0)->kind, CoreKind::prime) << "big ones are not allowed";
  EXPECT_EQ(choose_cores("", 0, machine, {0}, 0)->kind, CoreKind::little);
  EXPECT_EQ(choose_cores("prime", 0, machine, {0, 2}, 0).error().message,
            "--cores prime: this process may use no prime core");
}
TEST_F(FakeSystem, AQuotaLimitsTheDefaultButNotWhoAsks) {
  write("cpu/online", "0-3");
  for (int id : {0, 1, 2, 3}) add_cpu(id, id, 0);
  const auto machine = read_topology(paths_);
  const std::vector<int> all = {0, 1, 2, 3};
  EXPECT_EQ(choose_cores("", 0, machine, all, 2.5)->cpus.size(), 2u);
  EXPECT_EQ(choose_cores("", 0, machine, all, 0.5)->cpus.size(), 1u);
  EXPECT_EQ(choose_cores("", 4, machine, all, 2.5)->cpus.size(), 4u);
  EXPECT_EQ(choose_cores("0-3", 0, machine, all, 2.5)->cpus.size(), 4u);
}
TEST_F(FakeSystem, WrongWishesGetASentence) {
  write("cpu/online", "0-1");
  for (int id : {0, 1}) add_cpu(id, id, 0);
  const auto machine = read_topology(paths_);
  const std::vector<int> all = {0, 1};
  EXPECT_EQ(choose_cores("", 3, machine, all, 0).error().message, "--threads is 3, but there are 2 usable cores (0,1)");
  EXPECT_EQ(choose_cores("0-3", 0, machine, all, 0).error().message,
            "--cores names processor 2; this process may use 0,1");
  EXPECT_EQ(choose_cores("bg", 0, machine, all, 0).error().message,
            "--cores is \"bg\"; expected big, little, prime or processors like 0-3; did you mean \"big\"?");
  EXPECT_EQ(choose_cores("little", 0, machine, all, 0).error().message,
            "--cores little: this process may use no little core");
}
TEST_F(FakeSystem, CachesAreReadByLevelAndKind) {
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const std::string folder = "cpu/cpu0/cache/index" + std::to_string(index);
    write(folder + "/level", level), write(folder + "/type", type), write(folder + "/size", size);
  };
  cache(0, "1", "Data", "48K"), cache(1, "1", "Instruction", "32K"), cache(2, "2", "Unified", "2M"),
      cache(3, "3", "Unified", "107520K");
  const CacheSizes sizes = read_caches(0, paths_);
  EXPECT_EQ(sizes.l1_bytes, 48 << 10);
  EXPECT_EQ(sizes.l2_bytes, 2 << 20);
  EXPECT_EQ(sizes.l3_bytes, 105 << 20);
}
TEST_F(FakeSystem, TheSmallestQuotaOfAllAncestorsCountsInVersion2) {
  write("own_cgroup", "0::/a/b");
  write("cgroup/cpu.max", "max 100000");
  write("cgroup/a/cpu.max", "150000 100000");
  write("cgroup/a/b/cpu.max", "300000 100000");
  EXPECT_DOUBLE_EQ(cgroup_quota(paths_), 1.5);
}
TEST_F(FakeSystem, TheQuotaOfVersion1IsFoundInsideAContainer) {
  write("own_cgroup", "4:memory:/m\n3:cpu,cpuacct:/docker/of/the/host");
  write("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000");
  write("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(cgroup_quota(paths_), 2.0);
}
TEST_F(FakeSystem, TheSmallestMemoryOfAllAncestorsCountsInBothVersions) {
  write("own_cgroup", "0::/a/b\n4:memory:/m");
  write("cgroup/memory.max", "max");
  write("cgroup/a/memory.max", "1048576");
  write("cgroup/a/b/memory.max", "2097152");
  EXPECT_EQ(cgroup_memory(paths_), 1 << 20);
  write("cgroup/memory/m/memory.limit_in_bytes", "4096");
  EXPECT_EQ(cgroup_memory(paths_), 4096);
}
TEST_F(FakeSystem, NoQuotaAndGarbageMeanNoLimit) {
  EXPECT_EQ(cgroup_quota(paths_), 0);
  EXPECT_EQ(cgroup_memory(paths_), 0);
  write("own_cgroup", "garbage\n0::/x\n:::::");
  write("cgroup/x/cpu.max", "what is this");
  EXPECT_EQ(cgroup_quota(paths_), 0);
  EXPECT_FALSE(read_topology(paths_).empty());
}

TEST(ProcessorTime, IsReadFromTheLineOfEachProcessor) {
  const char* stat =
      "cpu  900 0 90 8000 5 0 1 70 0 0\n"
      "cpu0 400 0 40 4000 2 0 1 50 0 0\n"
      "cpu1 500 0 50 4000 3 0 0 20 0 0\n"
      "cpu10 1 1 1 1 1 1 1 1000 0 0\n"
      "intr 12345 0 0\n";
  EXPECT_DOUBLE_EQ(processor_time(stat, {0}, 100).stolen, 0.5);
  EXPECT_DOUBLE_EQ(processor_time(stat, {0, 1}, 100).stolen, 0.7);
  EXPECT_DOUBLE_EQ(processor_time(stat, {7}, 100).stolen, 0);
  EXPECT_DOUBLE_EQ(processor_time(stat, {0}, 100).busy, 4.41);
  EXPECT_DOUBLE_EQ(processor_time("cpu0 1 2 3\ncpu1 a b c d e f g h\n\n", {0, 1}, 100).stolen, 0)
      << "an old kernel, garbage";
}
TEST(StolenTime, IsAPartOfWhatWasWatched) {
  const StolenTime watch({});
  EXPECT_GE(watch.share(), 0);
  EXPECT_LE(watch.share(), 1);
  EXPECT_EQ(stolen_text(0.004), "");
  EXPECT_EQ(stolen_text(0.124), "the host gave 12% of the processors' time to others");
}
TEST(ThisMachine, IsATargetThatItCanRun) {
  const Target here = detect_target();
  EXPECT_TRUE(can_run(here).ok());
  EXPECT_GE(here.threads, 1);
  EXPECT_EQ(*resolve_target("cpu -mcpu=native"), here);
  EXPECT_EQ(resolve_target("cpu -mcpu=haswell -threads=1")->cpu().vector_bytes, 32);
  EXPECT_FALSE(resolve_target("cpu -mcpu=nothing").ok());
}
TEST(ThisMachine, GivesTheCallerItsMaskBackAfterAPin) {
  const std::vector<int> before = allowed_cpus();
  {
    const ScopedPin pin(before.front());
    EXPECT_EQ(allowed_cpus().size(), 1u);
  }
  EXPECT_EQ(allowed_cpus(), before);
}
TEST(ThisMachine, ReadsEveryLevelOfMemoryWithEveryVectorWidth) {
  const std::vector<int> one = {usable_cores().cpus.front()};
  for (const Target& target : {detect_target(), *parse_target("cpu")}) {
    const std::vector<Bandwidth> levels = measure_bandwidth(target, one);
    ASSERT_EQ(levels.size(), 4u);
    for (const Bandwidth& level : levels) EXPECT_GT(level.gb_per_second, 0.1) << level.level;
  }
}
TEST(WorkTogether, IsDoneOnEveryCpuEveryTimeAfterItsPreparation) {
  const std::vector<int> cpus = usable_cores().cpus;
  std::vector<int> prepared(cpus.size()), done(cpus.size());
  const double seconds = best_seconds_together(
      cpus, 3, [&](std::size_t k) { done[k] += prepared[k]; }, [&](std::size_t k) { ++prepared[k]; });
  EXPECT_EQ(done, std::vector<int>(cpus.size(), 1 + 2 + 3));
  EXPECT_LT(seconds, 1e30);
}
TEST(Placement, IsNamedByItsRoundTrip) {
  EXPECT_EQ(name_of(placement_kind(125)), "near");
  EXPECT_EQ(name_of(placement_kind(300)), "between near and far");
  EXPECT_EQ(name_of(placement_kind(430)), "far");
  EXPECT_EQ(name_of(placement_kind(900)), "disturbed");
}
TEST(ThisMachine, IsProbedForItsPlacement) {
  const std::vector<int> cpus = usable_cores().cpus;
  if (cpus.size() < 2) GTEST_SKIP() << "one processor has no placement";
  const std::vector<int> before = allowed_cpus();
  double round_trip = 0;  // so it stays where other programs disturb each burst
  for (int i = 0; i < 20 && round_trip == 0; ++i) round_trip = probe_round_trip(cpus[0], cpus[1]);
  EXPECT_EQ(allowed_cpus(), before);
  if (round_trip == 0) GTEST_SKIP() << "the processors are too busy, or too far from each other";
  EXPECT_NE(placement_kind(round_trip), CorePlacement::Kind::disturbed) << round_trip;
}

TEST(Processor, OfAnArmCoreIsNamedByItsMidr) {
  EXPECT_EQ(arm_name(0x410fd083), "cortex-a72");
  EXPECT_EQ(arm_name(0x414fd0b1), "cortex-a76") << "revisions do not matter";
  EXPECT_EQ(arm_name(0x460f0010), "a64fx");
  EXPECT_EQ(arm_name(0), "aarch64");
  EXPECT_EQ(arm_name(0x420fd083), "aarch64") << "of another maker";
}
TEST(CanRun, AsksAnotherMachineToo) {
  const Target a72 = *parse_target("cpu -mcpu=cortex-a72"), haswell = *parse_target("cpu -mcpu=haswell");
  EXPECT_TRUE(can_run(a72, Isa::aarch64, 0, "pi4").ok());
  EXPECT_EQ(can_run(haswell, Isa::aarch64, 0, "pi4").error().message,
            "pi4 cannot run code for \"" + to_string(haswell) + "\": it has no x86-64 processor");
  EXPECT_FALSE(can_run(haswell, Isa::x86_64, 0, "old").ok());
  const Target tiles = *parse_target("cpu -mcpu=sapphirerapids");
  const IsaSet without = kAvx512 | isa_set("amx-tile", "amx-int8");
  EXPECT_EQ(
      can_run(tiles, Isa::x86_64, without, "this machine").error().message,
      "this machine cannot run code for \"cpu -mcpu=sapphirerapids -threads=1\": it has no tiles (AMX), or its system "
      "refuses them; add "
      "-mattr=-amx-tile");
  EXPECT_TRUE(can_run(tiles, Isa::x86_64, without | isa_set("amx-bf16"), "this machine").ok());
  EXPECT_TRUE(can_run(*parse_target("cpu -mcpu=sapphirerapids -mattr=-amx-tile"), Isa::x86_64, kAvx512, "here").ok());
}

}  // namespace
}  // namespace whet
