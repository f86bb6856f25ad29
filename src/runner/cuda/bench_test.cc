#include "runner/cuda/bench.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "artifact/emulated_module.h"
#include "runner/fill.h"
#include "runtime/cuda/testing/scripted_driver.h"

namespace whet {
namespace cuda_bench_test {

using testing::HostLaunch;
using testing::ScriptedDriver;
using testing::ScriptRule;

constexpr std::int64_t kCount = 1000, kBytes = kCount * 4;

/// y = x + w, two launches; the second adds 1.
KernelJob job() {
  KernelJob job;
  job.kernel.format = CodeFormat::ptx;
  job.kernel.code = testing::scripted_ptx({"sum", "more"});
  job.kernel.launches = {{"sum", false, {4}, {256}, 0}, {"more", false, {4}, {256}, 99000}};
  job.kernel.workspace = 128;
  job.kernel.argument_bytes = {kBytes, kBytes, kBytes};
  job.arguments = {{ArgumentRole::activation, DType::f32, kBytes, 7},
                   {ArgumentRole::constant, DType::f32, kBytes, 8},
                   {ArgumentRole::output, DType::f32, kBytes}};
  return job;
}

std::vector<float> contents(const ArgumentSpec& spec) {
  std::vector<float> values(kCount);
  fill_argument(spec, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

class CudaBenchTest : public ::testing::Test {
 protected:
  CudaBenchTest() { begin({}); }
  ~CudaBenchTest() override { bench = nullptr; }

  void begin(testing::DriverScript script) {
    bench = nullptr;
    driver = nullptr;
    driver = std::make_unique<ScriptedDriver>(std::move(script));
    const auto at = [](const HostLaunch& l, std::size_t i) { return static_cast<float*>(l.parameters[i]); };
    driver->add_kernel("sum", 4, [this, at](const HostLaunch& l) {
      weights.insert(at(l, 1));
      for (std::int64_t i = 0; i < kCount; ++i) at(l, 2)[i] = at(l, 0)[i] + at(l, 1)[i];
      return 0;
    });
    driver->add_kernel("more", 4, [this, at](const HostLaunch& l) {
      for (std::int64_t i = 0; i < kCount; ++i) at(l, 2)[i] += 1;
      if (stray != 0) at(l, 2)[stray] = 0;
      return 0;
    });
    current = &driver->driver();
    bench = make_cuda_bench([](whet_error*) { return current; });
  }
  MeasureReply measure(TimingPolicy policy = {}) { return bench->measure({job(), policy}); }
  CheckReply check() { return bench->check({job(), {}, {}, {}}); }

  static inline const CudaDriver* current = nullptr;
  std::unique_ptr<ScriptedDriver> driver;
  std::unique_ptr<KernelBench> bench;
  std::set<const float*> weights;  ///< where `sum` found them
  std::int64_t stray = 0;          ///< an element of the output that `more` stores to beside the others
};

TEST_F(CudaBenchTest, TimesAKernelAndGivesItsOutputs) {
  const MeasureReply reply = measure();
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_GE(reply.seconds.size(), 3u);
  for (double seconds : reply.seconds) EXPECT_GT(seconds, 0);
  EXPECT_FALSE(reply.truncated);

  const CheckReply checked = check();
  ASSERT_EQ(checked.code, OutcomeCode::ok) << checked.message;
  ASSERT_EQ(checked.outputs.size(), 1u);
  std::vector<float> y(kCount);
  ASSERT_EQ(checked.outputs[0].size(), static_cast<std::size_t>(kBytes));
  std::memcpy(y.data(), checked.outputs[0].data(), checked.outputs[0].size());
  const std::vector<float> x = contents(job().arguments[0]), w = contents(job().arguments[1]);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i] + w[i] + 1) << i;
}
TEST_F(CudaBenchTest, GivesTheLaunchesOfAKernelTheSamePartOfAnSmsMemory) {
  EXPECT_EQ(measure().code, OutcomeCode::ok);
  EXPECT_EQ(driver->percents_of_memory(), (std::vector<int>{86, 86})) << "twice 99,000 bytes and 1 KiB of 228 KiB";
}

TEST_F(CudaBenchTest, ChecksWithTheContentsThatAreGivenAndForgetsThem) {
  const std::string zeros(static_cast<std::size_t>(kBytes), '\0');
  const CheckReply given = bench->check({job(), {{0, zeros}, {1, zeros}}, {}, {}});
  ASSERT_EQ(given.code, OutcomeCode::ok) << given.message;
  float first = 0;
  std::memcpy(&first, given.outputs[0].data(), sizeof first);
  EXPECT_EQ(first, 1);
  EXPECT_NE(check().outputs, given.outputs);
}
TEST_F(CudaBenchTest, RunsAfterAPauseUntilTheClocksAreUp) {
  TimingPolicy once;
  once.classic = true;
  once.repeat = once.number = 1;
  once.min_repeat_seconds = 0;
  const auto replays = [&] {
    const int before = driver->calls("cuGraphLaunch");
    EXPECT_EQ(measure(once).code, OutcomeCode::ok);
    return driver->calls("cuGraphLaunch") - before;
  };
  constexpr int kGuarded = 1, kUncounted = 1, kCounted = 1;
  EXPECT_GT(replays(), kGuarded + kUncounted + kCounted) << "nothing ran before";
  int again = 0;
  for (int attempt = 0; attempt < 50 && again != kGuarded + kUncounted + kCounted; ++attempt) again = replays();
  EXPECT_EQ(again, kGuarded + kUncounted + kCounted) << "one that comes at once";
}
TEST_F(CudaBenchTest, TakesConstantsFromOnePlaceOrFromAPoolAsLargeAsTheNetwork) {
  TimingPolicy policy;
  policy.cache = CacheMode::warm;
  ASSERT_EQ(measure(policy).code, OutcomeCode::ok);
  EXPECT_EQ(weights.size(), 1u);
  weights.clear();
  policy.cache = CacheMode::network;
  policy.network_bytes = 5 * 4096;  // constants begin at multiples of 256
  ASSERT_EQ(measure(policy).code, OutcomeCode::ok);
  EXPECT_EQ(weights.size(), 1u + 5u) << "the first run's and the pool's";
}
TEST_F(CudaBenchTest, RunsDeviceCodeAtSeveralPlacesUnlessTheCachesAreWarm) {
  KernelJob assembled = job();
  assembled.kernel.format = CodeFormat::cubin;
  assembled.kernel.code = testing::scripted_cubin({"sum", "more"}, 90);
  int copies = 20;
  const auto loads = [&](CacheMode cache) {
    TimingPolicy policy;
    policy.cache = cache;
    policy.classic = true;
    policy.repeat = 1, policy.number = copies;
    policy.min_repeat_seconds = 0;
    const int before = driver->calls("cuModuleLoadDataEx");
    const MeasureReply reply = bench->measure({assembled, policy});
    EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
    return driver->calls("cuModuleLoadDataEx") - before;
  };
  EXPECT_EQ(loads(CacheMode::network), 16);
  EXPECT_EQ(loads(CacheMode::warm), 1);
  driver->add_rule({.function = "cuModuleLoadDataEx", .nth = 3, .code = 2});
  EXPECT_EQ(loads(CacheMode::network), 3) << "it does with what it got";
  copies = 5;
  EXPECT_EQ(loads(CacheMode::network), 5) << "more places are not run";
}
TEST_F(CudaBenchTest, GivesOthersArgumentsBackWhereMemoryRunsOut) {
  ASSERT_EQ(measure().code, OutcomeCode::ok);
  KernelJob other = job();
  other.arguments[0].seed = 99;
  driver->add_rule({.function = "cuMemAlloc_v2", .nth = 2, .code = 2});
  EXPECT_EQ(bench->measure({other, {}}).code, OutcomeCode::ok);
}
TEST_F(CudaBenchTest, KeepsTheArgumentsOfTasksThatAreMeasuredInTurn) {
  const auto allocations_of = [&](std::uint64_t seed) {
    KernelJob other = job();
    other.arguments[0].seed = seed;
    const int before = driver->calls("cuMemAlloc_v2");
    EXPECT_EQ(bench->measure({other, {}}).code, OutcomeCode::ok);
    EXPECT_EQ(bench->check({other, {}, {}, {}}).code, OutcomeCode::ok);
    return driver->calls("cuMemAlloc_v2") - before;
  };
  EXPECT_GE(allocations_of(1), 3);
  EXPECT_EQ(allocations_of(2), 3);
  EXPECT_EQ(allocations_of(1), 0);
  EXPECT_EQ(allocations_of(2), 0);
  for (std::uint64_t seed = 3; seed < 11; ++seed) EXPECT_EQ(allocations_of(seed), 3);
  EXPECT_EQ(allocations_of(1), 3) << "eight others came since";
}
TEST_F(CudaBenchTest, EndsAKernelEarlyThatIsClearlySlower) {
  TimingPolicy policy;
  policy.incumbent_seconds = 1e-12;
  const MeasureReply reply = measure(policy);
  EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_TRUE(reply.truncated);
}
TEST_F(CudaBenchTest, GivesAsManyMeansAsTheClassicPolicyAsksFor) {
  TimingPolicy policy;
  policy.classic = true;
  policy.repeat = 4, policy.number = 3;
  const MeasureReply reply = measure(policy);
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_EQ(reply.seconds.size(), 4u);
}
TEST_F(CudaBenchTest, FindsStoresBesideTheArguments) {
  stray = kCount + 3;
  EXPECT_EQ(measure().message, "memory 12 bytes behind the end of output 2 was overwritten");
  EXPECT_EQ(check().code, OutcomeCode::wrong_answer);
  stray = -2;
  EXPECT_EQ(measure().message, "memory 8 bytes before the begin of output 2 was overwritten");
  stray = 0;
  EXPECT_EQ(measure().code, OutcomeCode::ok) << "the pattern is renewed";
}
TEST_F(CudaBenchTest, NamesEachFailureAndIsLostWhereTheContextIs) {
  struct Case {
    const char* function;
    CUresult code;
    OutcomeCode outcome;
    bool lost;
  };
  for (const Case& c : {Case{"cuModuleLoadDataEx", 218, OutcomeCode::compile_device, false},
                        Case{"cuMemAlloc_v2", 2, OutcomeCode::out_of_memory, false},
                        Case{"cuFuncSetAttribute", 701, OutcomeCode::rejected, false},
                        Case{"cuGraphInstantiateWithFlags", 999, OutcomeCode::unknown, false},
                        Case{"cuGraphLaunch", 700, OutcomeCode::crash, true},
                        Case{"cuStreamSynchronize", 702, OutcomeCode::run_timeout, true},
                        Case{"cuStreamSynchronize", 214, OutcomeCode::device_lost, true}}) {
    begin({});
    driver->add_rule({.function = c.function, .nth = c.code == 2 ? 0 : 1, .code = c.code});
    const MeasureReply reply = measure();
    EXPECT_EQ(reply.code, c.outcome) << c.function << ": " << reply.message;
    EXPECT_FALSE(reply.message.empty());
    EXPECT_TRUE(reply.seconds.empty());
    EXPECT_EQ(bench->is_lost(), c.lost) << c.function;
    driver->clear_rules();
    if (!c.lost) {
      EXPECT_EQ(measure().code, OutcomeCode::ok) << "after " << c.function;
    }
    driver->forgive();
  }
}
TEST_F(CudaBenchTest, PlacesAgainWhatFoundNoMemory) {
  for (int nth = 1; nth <= 5; ++nth) {  // three arguments, the workspace, the pool of constants
    begin({});
    TimingPolicy policy;
    policy.network_bytes = 5 * 4096;
    driver->add_rule({.function = "cuMemAlloc_v2", .nth = nth, .code = 2});
    EXPECT_EQ(measure(policy).code, OutcomeCode::out_of_memory) << nth;
    EXPECT_EQ(measure(policy).code, OutcomeCode::ok) << nth;
  }
}
TEST_F(CudaBenchTest, SaysThatThereIsNoDriverOrNoSuchDevice) {
  bench =
      make_cuda_bench([](whet_error* error) -> const CudaDriver* { return whet_fail(error, "no driver"), nullptr; });
  EXPECT_EQ(measure().code, OutcomeCode::device_lost);
  EXPECT_EQ(measure().message, "no driver");
  bench = make_cuda_bench([](whet_error*) { return current; });
  KernelJob other = job();
  other.device = 3;
  EXPECT_EQ(bench->measure({other, {}}).message, "there is no device cuda:3; the driver has 1, counted from 0");
}
TEST_F(CudaBenchTest, GivesEverythingBack) {
  ASSERT_EQ(measure().code, OutcomeCode::ok);
  bench = nullptr;
  EXPECT_EQ(driver->alive(), "");
}

// ---- On the emulated device.

/// The kernels of testing/emulated_kernels.c.
KernelJob emulated_job(const std::string& entry, double seconds) {
  std::ifstream file(WHET_EMULATED_KERNELS, std::ios::binary);
  const std::string object(std::istreambuf_iterator<char>(file), {});
  KernelJob job;
  job.kernel.format = CodeFormat::emulated;
  job.kernel.code = write_emulated_module({{{entry, seconds, 0, 3}}, {object}});
  job.kernel.launches = {{entry, false, {8}, {128}, 512}};
  job.kernel.argument_bytes = {kBytes, kBytes};
  job.arguments = {{ArgumentRole::activation, DType::f32, kBytes, 7}, {ArgumentRole::output, DType::f32, kBytes}};
  return job;
}

TEST(EmulatedBench, TakesTheTimeOfTheEstimateAndChecksAllBlocks) {
  const auto bench = make_emulated_bench();
  const MeasureReply reply = bench->measure({emulated_job("add_one", 3e-6), {}});
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  for (double seconds : reply.seconds) EXPECT_NEAR(seconds, 3e-6, 1e-10);
  const CheckReply checked = bench->check({emulated_job("add_one", 3e-6), {}, {}, {}});
  ASSERT_EQ(checked.code, OutcomeCode::ok) << checked.message;
  const std::vector<float> x = contents(emulated_job("add_one", 1).arguments[0]);
  std::vector<float> y(kCount);
  std::memcpy(y.data(), checked.outputs[0].data(), checked.outputs[0].size());
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i] + 1) << i;
}
TEST(EmulatedBench, SaysWhyABlockCannotGoOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a driver that was started does not survive a fork
  const auto fails = [] {
    const auto bench = make_emulated_bench();
    const MeasureReply reply = bench->measure({emulated_job("stuck", 1e-6), {}});
    std::fprintf(stderr, "%s", reply.message.c_str());
    _exit(reply.code == OutcomeCode::crash && bench->is_lost() ? 0 : 1);
  };
  EXPECT_EXIT(fails(), ::testing::ExitedWithCode(0),
              "stuck: block [0-9]: thread [0-9]+ waits at a barrier that thread 7 does not come to");
}

}  // namespace cuda_bench_test
}  // namespace whet
