#include "runtime/cuda/testing/scripted_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace whet::testing {
namespace {

/// A current context and a stream, as a program has them.
class ScriptedDriverTest : public ::testing::Test {
 protected:
  void begin(DriverScript script = {}) {
    fake = nullptr;
    fake = std::make_unique<ScriptedDriver>(std::move(script));
    call = &fake->driver().call;
    ASSERT_EQ(call->cuInit(0), 0);
    ASSERT_EQ(call->cuDevicePrimaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(call->cuCtxPushCurrent_v2(context), 0);
    ASSERT_EQ(call->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
  }
  void TearDown() override {
    if (fake == nullptr) return;
    call->cuStreamDestroy_v2(stream);
    call->cuCtxPopCurrent_v2(nullptr);
    call->cuDevicePrimaryCtxRelease_v2(0);
  }

  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(call->cuMemAlloc_v2(&pointer, bytes), 0);
    return pointer;
  }

  CUfunction function(const std::string& name) {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    EXPECT_EQ(call->cuModuleLoadDataEx(&module, scripted_ptx({name}).c_str(), 0, nullptr, nullptr), 0);
    EXPECT_EQ(call->cuModuleGetFunction(&found, module, name.c_str()), 0);
    return found;
  }

  CUgraphNode add(CUgraph graph, CUfunction function, CUdeviceptr argument, std::vector<CUgraphNode> after = {}) {
    void* parameters[] = {&argument};
    const CUDA_KERNEL_NODE_PARAMS_v2 node{function, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
    CUgraphNode made = nullptr;
    EXPECT_EQ(call->cuGraphAddKernelNode_v2(&made, graph, after.data(), after.size(), &node), 0);
    return made;
  }

  std::unique_ptr<ScriptedDriver> fake;
  const CudaFunctions* call = nullptr;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

TEST_F(ScriptedDriverTest, CopiesAndCounts) {
  begin();
  const CUdeviceptr memory = allocate(100);
  std::vector<char> in(100, 'x'), out(100, ' ');
  EXPECT_EQ(call->cuMemcpyHtoDAsync_v2(memory, in.data(), 100, stream), 0);
  EXPECT_EQ(call->cuMemcpyDtoHAsync_v2(out.data(), memory, 100, stream), 0);
  EXPECT_EQ(in, out);
  EXPECT_EQ(fake->calls("cuMemcpyHtoDAsync_v2"), 1);
  EXPECT_EQ(fake->alive(), "1 allocations, 1 streams, 1 contexts, 1 current contexts");
  EXPECT_EQ(call->cuMemFree_v2(memory), 0);
}

TEST_F(ScriptedDriverTest, RefusesRangesOutsideOfAnAllocation) {
  begin();
  const CUdeviceptr memory = allocate(100);
  std::vector<char> host(200);
  EXPECT_EQ(call->cuMemcpyHtoDAsync_v2(memory + 1, host.data(), 100, stream), 1);
  EXPECT_EQ(call->cuMemcpyHtoDAsync_v2(reinterpret_cast<CUdeviceptr>(host.data()), host.data(), 10, stream), 1)
      << "memory of the host is none of the device";
  EXPECT_EQ(call->cuMemFree_v2(memory + 64), 1);
}

TEST_F(ScriptedDriverTest, HasAsMuchMemoryAsItsScriptSays) {
  begin({.devices = {{.memory = 1000}}});
  allocate(600);
  CUdeviceptr more = 0;
  EXPECT_EQ(call->cuMemAlloc_v2(&more, 401), 2);
  std::size_t free = 0, total = 0;
  EXPECT_EQ(call->cuMemGetInfo_v2(&free, &total), 0);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(total, 1000u);
}

TEST_F(ScriptedDriverTest, NeedsACurrentContext) {
  begin();
  CUdeviceptr memory = 0;
  CUresult code = 0;
  std::thread([&] { code = call->cuMemAlloc_v2(&memory, 100); }).join();
  EXPECT_EQ(code, 201) << "contexts are current in a thread";
}

TEST_F(ScriptedDriverTest, FailsTheCallsThatTheScriptNames) {
  begin({.rules = {{"cuEventCreate", 2, ScriptRule::What::code, 46}}});
  CUevent event = nullptr;
  EXPECT_EQ(call->cuEventCreate(&event, 0), 0);
  CUevent second = nullptr;
  EXPECT_EQ(call->cuEventCreate(&second, 0), 46);
  EXPECT_EQ(call->cuEventCreate(&second, 0), 0);
}

TEST_F(ScriptedDriverTest, GivesAStickyCodeForEver) {
  begin();
  fake->add_kernel("broken", 1, [](const HostLaunch&) { return 716; });
  void* none = nullptr;
  void* parameters[] = {&none};
  EXPECT_EQ(call->cuLaunchKernel(function("broken"), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), 0)
      << "the device tells later";
  EXPECT_EQ(call->cuStreamSynchronize(stream), 716);
  CUdeviceptr memory = 0;
  EXPECT_EQ(call->cuMemAlloc_v2(&memory, 4), 716);
  EXPECT_EQ(call->cuStreamSynchronize(stream), 716);
}

TEST_F(ScriptedDriverTest, FindsPointersToNothing) {
  begin();
  fake->add_kernel("any", 1, [](const HostLaunch&) { return 0; });
  const CUdeviceptr memory = allocate(64);
  ASSERT_EQ(call->cuMemFree_v2(memory), 0);
  CUdeviceptr dangling = memory;
  void* parameters[] = {&dangling};
  EXPECT_EQ(call->cuLaunchKernel(function("any"), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), 0);
  EXPECT_EQ(call->cuStreamSynchronize(stream), 700);
}

TEST_F(ScriptedDriverTest, RefusesImagesThatADriverWouldRefuse) {
  begin({.version = 12010, .devices = {{.arch = 86}}});
  fake->add_kernel("k", 0, [](const HostLaunch&) { return 0; });
  const auto load = [&](const std::string& image) {
    CUmodule module = nullptr;
    return call->cuModuleLoadDataEx(&module, image.c_str(), 0, nullptr, nullptr);
  };
  EXPECT_EQ(load(scripted_ptx({"k"}, 80)), 0);
  EXPECT_EQ(load(scripted_ptx({"k"}, 90)), 209);
  EXPECT_EQ(load(scripted_ptx({"k"}, 80, "8.4")), 222) << "of a newer version than CUDA 12.1 reads";
  EXPECT_EQ(load(scripted_cubin({"k"}, 80)), 0);
  EXPECT_EQ(load(scripted_cubin({"k"}, 89)), 209);
  EXPECT_EQ(load(scripted_cubin({"k"}, 75)), 209);
  EXPECT_EQ(load("nonsense"), 200);
}

TEST_F(ScriptedDriverTest, ReplaysGraphsInEveryOrderThatTheEdgesAllow) {
  begin();
  std::string order;
  for (const char* name : {"a", "b", "c"}) {
    fake->add_kernel(name, 1, [&order, name](const HostLaunch&) { return order += name, 0; });
  }
  const CUdeviceptr memory = allocate(4);
  CUgraph graph = nullptr;
  ASSERT_EQ(call->cuGraphCreate(&graph, 0), 0);
  const CUgraphNode a = add(graph, function("a"), memory), b = add(graph, function("b"), memory);
  add(graph, function("c"), memory, {a, b});
  CUgraphExec exec = nullptr;
  ASSERT_EQ(call->cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  EXPECT_EQ(fake->last_graph(), "0 kernel a\n1 kernel b\n2 kernel c after 0 1\n");
  int a_first = 0, b_first = 0;
  for (int i = 0; i < 50; ++i) {
    order.clear();
    ASSERT_EQ(call->cuGraphLaunch(exec, stream), 0);
    ASSERT_EQ(call->cuStreamSynchronize(stream), 0);
    a_first += order == "abc";
    b_first += order == "bac";
  }
  EXPECT_EQ(a_first + b_first, 50);
  EXPECT_GT(a_first, 5);
  EXPECT_GT(b_first, 5);
}

TEST_F(ScriptedDriverTest, ChangesParametersOfAGraph) {
  begin();
  fake->add_kernel("set", 1, [](const HostLaunch& l) { return *static_cast<int*>(l.parameters[0]) = 7, 0; });
  const CUdeviceptr first = allocate(4), second = allocate(4);
  CUgraph graph = nullptr;
  ASSERT_EQ(call->cuGraphCreate(&graph, 0), 0);
  const CUfunction set = function("set");
  const CUgraphNode node = add(graph, set, first);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(call->cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CUdeviceptr argument = second;
  void* parameters[] = {&argument};
  const CUDA_KERNEL_NODE_PARAMS_v2 changed{set, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  ASSERT_EQ(call->cuGraphExecKernelNodeSetParams_v2(exec, node, &changed), 0);
  ASSERT_EQ(call->cuGraphLaunch(exec, stream), 0);
  ASSERT_EQ(call->cuStreamSynchronize(stream), 0);
  EXPECT_NE(*static_cast<int*>(fake->host_view(first)), 7);
  EXPECT_EQ(*static_cast<int*>(fake->host_view(second)), 7);
}

TEST_F(ScriptedDriverTest, WorksWhenSomebodyWaitsOrAtOnce) {
  for (bool at_once : {false, true}) {
    begin({.at_once = at_once});
    fake->add_kernel("set", 1, [](const HostLaunch& l) { return *static_cast<int*>(l.parameters[0]) = 7, 0; });
    CUdeviceptr memory = allocate(4);
    *static_cast<int*>(fake->host_view(memory)) = 1;
    void* parameters[] = {&memory};
    ASSERT_EQ(call->cuLaunchKernel(function("set"), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), 0);
    EXPECT_EQ(*static_cast<int*>(fake->host_view(memory)), at_once ? 7 : 1);
    ASSERT_EQ(call->cuStreamSynchronize(stream), 0);
    EXPECT_EQ(*static_cast<int*>(fake->host_view(memory)), 7);
    TearDown();
  }
  fake = nullptr;
}

TEST_F(ScriptedDriverTest, TellsOfMemoryThatIsFreedTooEarly) {
  begin();
  fake->add_kernel("any", 1, [](const HostLaunch&) { return 0; });
  CUdeviceptr memory = allocate(4);
  void* parameters[] = {&memory};
  ASSERT_EQ(call->cuLaunchKernel(function("any"), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), 0);
  ASSERT_EQ(call->cuMemFree_v2(memory), 0);
  EXPECT_NE(fake->alive().find("1 frees while work was on its way"), std::string::npos) << fake->alive();
}

TEST_F(ScriptedDriverTest, ComesLateAndHangs) {
  begin();
  fake->add_kernel("k", 0, [](const HostLaunch&) { return 0; });
  const CUfunction k = function("k");
  CUevent event = nullptr;
  ASSERT_EQ(call->cuEventCreate(&event, 0), 0);
  fake->add_rule({"cuLaunchKernel", 1, ScriptRule::What::late, 0, 30});
  ASSERT_EQ(call->cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), 0);
  ASSERT_EQ(call->cuEventRecord(event, stream), 0);
  EXPECT_EQ(call->cuEventQuery(event), 600);
  EXPECT_EQ(call->cuEventSynchronize(event), 0);
  EXPECT_EQ(call->cuEventQuery(event), 0);

  fake->clear_rules();
  fake->add_rule({"cuLaunchKernel", 1, ScriptRule::What::hangs, 702, 1});
  ASSERT_EQ(call->cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), 0);
  ASSERT_EQ(call->cuEventRecord(event, stream), 0);
  EXPECT_EQ(call->cuEventQuery(event), 600);
  EXPECT_EQ(call->cuStreamSynchronize(stream), 702);
  EXPECT_EQ(call->cuStreamSynchronize(stream), 702);
}

TEST_F(ScriptedDriverTest, LacksOptionalFunctionsWhereTheScriptSaysSo) {
  begin({.version = 12000, .optional_functions = false});
  EXPECT_EQ(call->cuLaunchKernelEx, nullptr);
  EXPECT_EQ(call->cuGraphAddDependencies_v2, nullptr);
}

TEST_F(ScriptedDriverTest, IsUsedByManyThreads) {
  begin();
  std::atomic<int> sum = 0;
  fake->add_kernel("k", 0, [&](const HostLaunch&) { return ++sum, 0; });
  const CUfunction k = function("k");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CUstream own = nullptr;
      CUdeviceptr memory = 0;
      call->cuCtxPushCurrent_v2(context);
      EXPECT_EQ(call->cuStreamCreate(&own, 0), 0);
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(call->cuMemAlloc_v2(&memory, 1000), 0);
        EXPECT_EQ(call->cuLaunchKernel(k, 1, 1, 1, 32, 1, 1, 0, own, nullptr, nullptr), 0);
        EXPECT_EQ(call->cuMemFree_v2(memory), 0);
      }
      EXPECT_EQ(call->cuStreamDestroy_v2(own), 0);
      call->cuCtxPopCurrent_v2(nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 200);
}

}  // namespace
}  // namespace whet::testing
