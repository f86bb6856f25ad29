#include "runtime/cuda/sm_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cuda/testing/scripted_driver.h"

namespace whet {
namespace {

using testing::ScriptedDriver;

class SmMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    whet_error error{};
    int count = 0;
    ASSERT_EQ(count_cuda_devices(fake.driver(), &count, &error), 0);
    ASSERT_EQ(open_cuda_context(fake.driver(), 0, &context, &error), 0) << error.message;
    ASSERT_EQ(call.cuCtxPushCurrent_v2(context.handle), 0);
    for (const char* name : {"a", "b", "c"}) fake.add_kernel(name, 0, [](const testing::HostLaunch&) { return 0; });
    ASSERT_EQ(call.cuModuleLoadDataEx(&module, testing::scripted_ptx({"a", "b", "c"}).c_str(), 0, nullptr, nullptr), 0);
  }
  void TearDown() override {
    call.cuModuleUnload(module);
    call.cuCtxPopCurrent_v2(nullptr);
    close_cuda_context(&context);
  }

  LaunchedKernel kernel(const char* name, std::uint32_t blocks, std::uint32_t threads, std::uint32_t block_memory) {
    CUfunction found = nullptr;
    EXPECT_EQ(call.cuModuleGetFunction(&found, module, name), 0);
    return {found, blocks, threads, block_memory};
  }
  CUresult share(const std::vector<LaunchedKernel>& kernels) {
    return share_sm_memory(context, kernels.data(), static_cast<std::uint32_t>(kernels.size()));
  }

  ScriptedDriver fake;  // of an SM with 228 KiB and 2,048 threads, 132 of them
  const CudaFunctions& call = fake.driver().call;
  CudaContext context{};
  CUmodule module = nullptr;
};

TEST_F(SmMemoryTest, AllKernelsHaveWhatTheMostDemandingOneNeeds) {
  // Four blocks of 512 threads are on an SM, each with 19 KiB and one of the driver's; a fifth has room.
  EXPECT_EQ(share({kernel("a", 1000, 512, 19 << 10), kernel("b", 1000, 512, 0), kernel("c", 1, 32, 40 << 10)}), 0);
  EXPECT_EQ(fake.percents_of_memory(), (std::vector<int>{44, 44, 44})) << "100 of 228 KiB";
}

TEST_F(SmMemoryTest, BlocksThatTheGridDoesNotHaveNeedNothing) {
  EXPECT_EQ(share({kernel("a", 132, 128, 56 << 10)}), 0);
  EXPECT_EQ(fake.percents_of_memory(), std::vector<int>{50}) << "a block an SM, and one: 114 of 228 KiB";
  EXPECT_EQ(share({kernel("b", 133, 128, 56 << 10)}), 0);
  EXPECT_EQ(fake.percents_of_memory().back(), 75);
}

TEST_F(SmMemoryTest, NoMoreIsAskedForThanThereIs) {
  EXPECT_EQ(share({kernel("a", 132, 128, 200 << 10)}), 0);
  EXPECT_EQ(fake.percents_of_memory(), std::vector<int>{100});
}

TEST_F(SmMemoryTest, WithoutMemoryOfBlocksAllIsCache) {
  EXPECT_EQ(share({kernel("a", 1000, 128, 0), kernel("b", 1, 32, 0)}), 0);
  EXPECT_EQ(fake.percents_of_memory(), (std::vector<int>{0, 0}));
}

TEST_F(SmMemoryTest, ErrorsOfTheDriverComeBack) {
  const std::vector<LaunchedKernel> kernels = {kernel("a", 1, 32, 1024)};
  for (const char* function :
       {"cuDeviceGetAttribute", "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuFuncSetAttribute"}) {
    fake.add_rule({.function = function, .code = 702});
    EXPECT_EQ(share(kernels), 702u) << function;
    fake.clear_rules();
    fake.forgive();
  }
}

}  // namespace
}  // namespace whet
