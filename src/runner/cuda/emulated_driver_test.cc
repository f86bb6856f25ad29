#include "runner/cuda/emulated_driver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <vector>

#include "artifact/emulated_module.h"

namespace whet {
namespace {

constexpr std::uint32_t kSize = 1000, kBlocks = 8, kThreads = 128;

/// The kernels of testing/emulated_kernels.c. `turn` and `beyond` have no estimate.
std::string module_bytes() {
  std::ifstream file(WHET_EMULATED_KERNELS, std::ios::binary);
  const std::string object(std::istreambuf_iterator<char>(file), {});
  return write_emulated_module(
      {{{"add_one", 2e-6, 0, 3}, {"turn", 0, 0, 3}, {"stuck", 1e-6, 0, 3}, {"beyond", 0, 0, 3}}, {object}});
}

class EmulatedDriver : public ::testing::Test {
 protected:
  EmulatedDriver() {
    set_emulated_run({});
    EXPECT_EQ(call.cuModuleLoadDataEx(&module, bytes.data(), 0, nullptr, nullptr), 0);
    for (CUdeviceptr* pointer : {&from, &to, &workspace}) EXPECT_EQ(call.cuMemAlloc_v2(pointer, kSize * 4), 0);
    for (CUevent* event : {&begin, &end}) EXPECT_EQ(call.cuEventCreate(event, 0), 0);
    std::iota(x.begin(), x.end(), 0.0f);
    EXPECT_EQ(call.cuMemcpyHtoDAsync_v2(from, x.data(), kSize * 4, nullptr), 0);
  }
  ~EmulatedDriver() override {
    for (CUevent event : {begin, end}) call.cuEventDestroy_v2(event);
    for (CUdeviceptr pointer : {from, to, workspace}) EXPECT_EQ(call.cuMemFree_v2(pointer), 0);
    call.cuModuleUnload(module);
  }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(call.cuModuleGetFunction(&found, module, name), 0) << name;
    return found;
  }
  CUresult launch(const char* name, std::uint32_t blocks = kBlocks) {
    void* parameters[] = {&from, &to, &workspace};
    return call.cuLaunchKernel(function(name), blocks, 1, 1, kThreads, 1, 1, kThreads * 4, nullptr, parameters,
                               nullptr);
  }
  std::vector<float> result() {
    std::vector<float> y(kSize);
    EXPECT_EQ(call.cuMemcpyDtoHAsync_v2(y.data(), to, kSize * 4, nullptr), 0);
    return y;
  }
  double seconds() {
    float milliseconds = 0;
    EXPECT_EQ(call.cuEventElapsedTime(&milliseconds, begin, end), 0);
    return static_cast<double>(milliseconds) / 1e3;
  }

  const CudaFunctions& call = emulated_cuda_driver().call;
  const std::string bytes = module_bytes();
  CUmodule module = nullptr;
  CUdeviceptr from = 0, to = 0, workspace = 0;
  CUevent begin = nullptr, end = nullptr;
  std::vector<float> x = std::vector<float>(kSize);
};

TEST_F(EmulatedDriver, RunsEveryBlockOfALaunch) {
  set_emulated_run({.order = EmulatedOrder::shuffled, .seed = 3, .workers = 2});
  ASSERT_EQ(launch("add_one"), 0);
  const std::vector<float> y = result();
  for (std::uint32_t i = 0; i < kSize; ++i) ASSERT_EQ(y[i], x[i] + 1);
  ASSERT_EQ(launch("turn", 7), 0);
  EXPECT_EQ(result()[0], x[kThreads - 1]);
  EXPECT_EQ(result()[kThreads], x[2 * kThreads - 1]);
}
TEST_F(EmulatedDriver, RunsTheNodesOfAGraphInTheOrderOfItsEdges) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode nodes[4];
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  void* parameters[] = {&from, &to, &workspace};
  kernel.func = function("add_one");
  kernel.gridDimX = kBlocks, kernel.blockDimX = kThreads;
  kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  CUDA_MEMCPY3D_v2 back{};
  back.srcMemoryType = back.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = to, back.dstDevice = from;
  back.WidthInBytes = kSize * 4, back.Height = back.Depth = 1;
  ASSERT_EQ(call.cuGraphCreate(&graph, 0), 0);
  ASSERT_EQ(call.cuGraphAddEventRecordNode(&nodes[0], graph, nullptr, 0, end), 0);
  ASSERT_EQ(call.cuGraphAddMemcpyNode(&nodes[1], graph, nullptr, 0, &back, nullptr), 0);
  ASSERT_EQ(call.cuGraphAddKernelNode_v2(&nodes[2], graph, nullptr, 0, &kernel), 0);
  ASSERT_EQ(call.cuGraphAddEventRecordNode(&nodes[3], graph, nullptr, 0, begin), 0);
  for (int i = 3; i > 0; --i) ASSERT_EQ(call.cuGraphAddDependencies(graph, &nodes[i], &nodes[i - 1], 1), 0);
  ASSERT_EQ(call.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  for (int run = 0; run < 3; ++run) ASSERT_EQ(call.cuGraphLaunch(exec, nullptr), 0);
  EXPECT_EQ(result()[5], x[5] + 3);
  EXPECT_NEAR(seconds(), 2e-6, 1e-12) << "the estimate of one launch";

  CUDA_KERNEL_NODE_PARAMS_v2 other = kernel;
  other.func = function("turn");
  other.gridDimX = 7, other.sharedMemBytes = kThreads * 4;
  ASSERT_EQ(call.cuGraphExecKernelNodeSetParams_v2(exec, nodes[2], &other), 0);
  ASSERT_EQ(call.cuGraphLaunch(exec, nullptr), 0);
  EXPECT_EQ(result()[0], x[kThreads - 1] + 3);
  EXPECT_GT(seconds(), 0) << "the host's time where nobody estimated it";
  ASSERT_EQ(call.cuGraphAddDependencies(graph, &nodes[0], &nodes[3], 1), 0);
  CUgraphExec circle = nullptr;
  EXPECT_NE(call.cuGraphInstantiateWithFlags(&circle, graph, 0), 0) << "nodes that wait for each other";
  call.cuGraphExecDestroy(exec);
  call.cuGraphDestroy(graph);
}
TEST_F(EmulatedDriver, RunsSomeBlocksOrNoneAndKeepsTheTime) {
  using Blocks = EmulatedRun::Blocks;
  const auto changed = [&](Blocks blocks) {
    call.cuMemsetD32Async(to, 0, kSize, nullptr);
    set_emulated_run({.blocks = blocks, .seed = 5});
    call.cuEventRecord(begin, nullptr);
    EXPECT_EQ(launch("add_one", 400), 0);
    call.cuEventRecord(end, nullptr);
    EXPECT_NEAR(seconds(), 2e-6, 1e-12);
    const std::vector<float> y = result();
    return kSize - std::count(y.begin(), y.end(), 0.0f);
  };
  EXPECT_EQ(changed(Blocks::all), kSize);
  EXPECT_EQ(changed(Blocks::none), 0);
  const auto some = changed(Blocks::some);
  EXPECT_GE(some, kThreads) << "the first block";
  EXPECT_LT(some, kSize);
}
TEST_F(EmulatedDriver, LosesTheDeviceWhereAKernelFails) {
  const auto fails = [&] {
    const bool first = launch("stuck") == 719;
    const bool later = launch("add_one") == 719 && call.cuCtxSynchronize() == 719;
    std::fprintf(stderr, "%s", emulated_failure().c_str());
    _exit(first && later ? 0 : 1);
  };
  EXPECT_EXIT(fails(), ::testing::ExitedWithCode(0),
              "stuck: block 0: thread 0 waits at a barrier that thread 7 does not come to");
}
TEST_F(EmulatedDriver, TrapsAccessesBehindTheEndOfAnAllocation) { EXPECT_DEATH(launch("beyond"), ""); }
TEST_F(EmulatedDriver, RefusesWhatItCannotRun) {
  CUmodule other = nullptr;
  CUfunction none = nullptr;
  const std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()";
  EXPECT_EQ(call.cuModuleLoadDataEx(&other, ptx.c_str(), 0, nullptr, nullptr), 200);
  EXPECT_EQ(call.cuModuleGetFunction(&none, module, "missing"), 500);
  void* parameters[] = {&from, &to, &workspace};
  EXPECT_EQ(call.cuLaunchKernel(function("add_one"), 1, 2, 1, kThreads, 1, 1, 0, nullptr, parameters, nullptr), 1);
  EXPECT_EQ(call.cuLaunchKernel(function("add_one"), 1, 1, 1, 100, 1, 1, 0, nullptr, parameters, nullptr), 1);
  unsigned kind = 0;
  EXPECT_EQ(call.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, to + 100), 0);
  EXPECT_EQ(kind, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(
      call.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(x.data())), 1);
  EXPECT_EQ(call.cuMemFree_v2(to + 256), 1);
}

}  // namespace
}  // namespace whet
