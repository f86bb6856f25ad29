#include "runtime/cuda/stream_session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/errors.h"
#include "runtime/cuda/testing/test_model.h"

namespace whet {
namespace cuda_stream_session_test {

using testing::CudaTestModel;
using testing::DriverScript;
using testing::HostLaunch;
using testing::ScriptedDriver;
using testing::ScriptRule;

constexpr std::uint32_t kSize = CudaTestModel::kSize;
constexpr std::uint64_t kBytes = CudaTestModel::kBytes;

struct CloseCuda {
  void operator()(CudaModel* model) const { cuda_model_close(model); }
  void operator()(CudaSession* session) const { cuda_session_destroy(session); }
};
using ModelHandle = std::unique_ptr<CudaModel, CloseCuda>;
using SessionHandle = std::unique_ptr<CudaSession, CloseCuda>;

std::vector<float> numbers(float first) {
  std::vector<float> x(kSize);
  for (std::uint32_t i = 0; i < kSize; ++i) x[i] = first + static_cast<float>(i % 17);
  return x;
}

/// A driver with the test model's kernels.
class CudaSessionTest : public ::testing::Test {
 protected:
  void begin(DriverScript script = {}) {
    fake = nullptr;
    fake = std::make_unique<ScriptedDriver>(std::move(script));
    CudaTestModel::add_kernels(*fake);
  }
  void TearDown() override {
    EXPECT_TRUE(fake == nullptr || fake->alive().empty()) << "not given back: " << fake->alive();
  }

  ModelHandle open(std::uint32_t flags = 0, std::int32_t device = 0) {
    const whet_device_options options = {sizeof options, device, flags};
    CudaModel* model = nullptr;
    error = {};
    cuda_model_open(test.image(), fake->driver(), &options, &model, &error);
    return ModelHandle(model);
  }
  SessionHandle make(const ModelHandle& model) {
    CudaSession* session = nullptr;
    error = {};
    cuda_session_create(model.get(), nullptr, &session, &error);
    return SessionHandle(session);
  }
  /// "right", "wrong at 3" or the error.
  std::string run(CudaSession* session, float first) {
    const std::vector<float> x = numbers(first);
    whet_error failure{};
    if (cuda_session_set_input(session, 0, x.data(), nullptr, &failure) != 0) return failure.message;
    if (cuda_session_run(session, &failure) != 0) return failure.message;
    return compare(x, cuda_session_output(session, 0), cuda_session_output(session, 1));
  }
  std::string compare(const std::vector<float>& x, const void* y, const void* z) const {
    const std::uint32_t wrong = test.first_wrong(x.data(), static_cast<const float*>(y), static_cast<const float*>(z));
    return wrong == 0 ? "right" : "wrong at " + std::to_string(wrong - 1);
  }
  whet_dltensor on_device(CUdeviceptr pointer, std::int64_t* shape, std::int32_t rank) {
    return {reinterpret_cast<void*>(pointer), {2, 0}, rank, {2, 32, 1}, shape, nullptr, 0};
  }

  CudaTestModel test;
  std::unique_ptr<ScriptedDriver> fake;
  whet_error error{};
};

TEST_F(CudaSessionTest, RunsThePlan) {
  begin();
  const ModelHandle model = open();
  ASSERT_NE(model, nullptr) << error.message;
  const SessionHandle session = make(model);
  ASSERT_NE(session, nullptr) << error.message;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(session.get(), static_cast<float>(i)), "right");
  EXPECT_EQ(fake->calls("cuGraphLaunch"), 20);
  EXPECT_EQ(fake->calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake->calls("cuGraphUpload"), 1);
  EXPECT_STREQ(cuda_session_note(session.get()), "");
}

TEST_F(CudaSessionTest, BuildsAGraphWhoseEdgesFollowTheData) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  EXPECT_EQ(fake->last_graph(),
            "0 upload\n"
            "1 kernel add after 0\n"
            "2 kernel sums after 1\n"
            "3 kernel total after 2 (early)\n"
            "4 kernel square after 1\n"
            "5 kernel subtract after 3 4\n"
            "6 copy\n"
            "7 download after 5\n"
            "8 download after 6\n");
}

TEST_F(CudaSessionTest, LetsAKernelWaitForACopyInAnyCase) {
  begin();
  test.plan.steps[0].launches[0].early = true;
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  EXPECT_NE(fake->last_graph().find("1 kernel add after 0\n"), std::string::npos) << fake->last_graph();
}

TEST_F(CudaSessionTest, LetsNoKernelStartEarlyWhereTheDeviceOrTheDriverCannot) {
  for (const DriverScript& script :
       {DriverScript{.devices = {{.arch = 89}}}, DriverScript{.optional_functions = false}}) {
    begin(script);
    const ModelHandle model = open();
    const SessionHandle session = make(model);
    EXPECT_NE(fake->last_graph().find("3 kernel total after 2\n"), std::string::npos) << fake->last_graph();
  }
}

TEST_F(CudaSessionTest, LetsNoKernelStartEarlyWhereThatIsNotWanted) {
  begin();
  const ModelHandle model = open(WHET_DEVICE_NO_EARLY);
  const SessionHandle session = make(model);
  EXPECT_NE(fake->last_graph().find("3 kernel total after 2\n"), std::string::npos) << fake->last_graph();
  EXPECT_EQ(run(session.get(), 1), "right");
}

TEST_F(CudaSessionTest, RunsStepsAsAChainOrWithoutAGraphWhereThatIsAsked) {
  begin();
  const ModelHandle chained = open(WHET_DEVICE_CHAIN);
  const SessionHandle chain = make(chained);
  EXPECT_NE(fake->last_graph().find("6 copy after 5\n"), std::string::npos) << fake->last_graph();
  EXPECT_EQ(run(chain.get(), 1), "right");

  const ModelHandle plain = open(WHET_DEVICE_NO_GRAPH);
  const SessionHandle stream = make(plain);
  const int graphs = fake->calls("cuGraphLaunch");
  EXPECT_EQ(run(stream.get(), 2), "right");
  EXPECT_EQ(fake->calls("cuGraphLaunch"), graphs);
  EXPECT_EQ(fake->calls("cuLaunchKernel"), 5);
}

TEST_F(CudaSessionTest, RunsWithADriverOfCuda12WithoutOptionalFunctions) {
  begin({.version = 12000, .optional_functions = false, .split_compile = false});
  const ModelHandle model = open();
  ASSERT_NE(model, nullptr) << error.message;
  EXPECT_EQ(fake->calls("cuModuleLoadDataEx"), 2) << "once with split compilation, once without";
  const SessionHandle session = make(model);
  EXPECT_EQ(run(session.get(), 1), "right");
}

TEST_F(CudaSessionTest, ReadsStridedInputsAndWritesBoundOutputs) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  std::vector<float> wide(10 * 128), y(kSize), z(kSize);
  const std::vector<float> x = numbers(3);
  for (std::uint32_t i = 0; i < kSize; ++i) wide[i / 100 * 128 + i % 100] = x[i];
  const std::int64_t strides[] = {128 * 4, 4};
  ASSERT_EQ(cuda_session_set_input(session.get(), 0, wide.data(), strides, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_bind_output(session.get(), 0, y.data(), &error), 0);
  ASSERT_EQ(cuda_session_bind_output(session.get(), 1, z.data(), &error), 0);
  ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(x, y.data(), z.data()), "right");
  EXPECT_EQ(cuda_session_output(session.get(), 0), y.data());
  ASSERT_EQ(cuda_session_bind_output(session.get(), 0, nullptr, &error), 0);
  EXPECT_EQ(run(session.get(), 5), "right");
  EXPECT_NE(cuda_session_output(session.get(), 0), y.data());
}

TEST_F(CudaSessionTest, UsesAlignedMemoryOfTheDeviceInPlace) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  std::int64_t in_shape[] = {10, 100}, out_shape[] = {kSize};
  const CUdeviceptr first = fake->allocate(kBytes), second = fake->allocate(kBytes), y = fake->allocate(kBytes);
  const std::vector<float> x = numbers(3), other = numbers(40);
  std::memcpy(fake->host_view(first), x.data(), kBytes);
  std::memcpy(fake->host_view(second), other.data(), kBytes);

  whet_dltensor tensor = on_device(first, in_shape, 2), answer = on_device(y, out_shape, 1);
  ASSERT_EQ(cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_bind_output_dlpack(session.get(), 0, &answer, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(x, fake->host_view(y), cuda_session_output(session.get(), 1)), "right");
  EXPECT_EQ(cuda_session_output(session.get(), 0), nullptr) << "it is on the device alone";
  EXPECT_EQ(fake->last_graph().find("upload"), std::string::npos) << fake->last_graph();

  const int graphs = fake->calls("cuGraphInstantiateWithFlags");
  tensor = on_device(second, in_shape, 2);
  ASSERT_EQ(cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(other, fake->host_view(y), cuda_session_output(session.get(), 1)), "right");
  EXPECT_EQ(fake->calls("cuGraphInstantiateWithFlags"), graphs) << "a changed pointer builds no graph";
  EXPECT_EQ(fake->calls("cuGraphExecKernelNodeSetParams_v2"), 1) << "one node has it";

  whet_dltensor made;
  ASSERT_EQ(cuda_session_output_dlpack(session.get(), 0, &made, &error), 0);
  EXPECT_EQ(made.data, reinterpret_cast<void*>(y));
  EXPECT_EQ(made.device.device_type, 2);
  for (CUdeviceptr pointer : {first, second, y}) fake->release(pointer);
}

TEST_F(CudaSessionTest, CopiesWhatIsNotAlignedOnTheDevice) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  std::int64_t in_shape[] = {10, 100}, out_shape[] = {kSize};
  const CUdeviceptr in = fake->allocate(kBytes + 64), y = fake->allocate(kBytes + 64);
  const std::vector<float> x = numbers(3);
  whet_dltensor tensor = on_device(in, in_shape, 2);
  for (std::uint64_t offset : {0, 64, 0}) {
    std::memmove(fake->host_view(in + offset), x.data(), kBytes);
    const whet_dltensor answer = on_device(y + offset, out_shape, 1);
    tensor.byte_offset = offset;
    ASSERT_EQ(cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
    ASSERT_EQ(cuda_session_bind_output_dlpack(session.get(), 0, &answer, &error), 0) << error.message;
    ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
    EXPECT_EQ(compare(x, fake->host_view(y + offset), cuda_session_output(session.get(), 1)), "right") << offset;
  }
  fake->release(in);
  fake->release(y);
}

TEST_F(CudaSessionTest, ReadsAndWritesPinnedMemoryWithoutStagingIt) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  std::int64_t in_shape[] = {10, 100}, out_shape[] = {kSize};
  std::vector<float> x = numbers(9), y(kSize);
  whet_dltensor tensor = {x.data(), {3, 0}, 2, {2, 32, 1}, in_shape, nullptr, 0};
  const whet_dltensor answer = {y.data(), {3, 0}, 1, {2, 32, 1}, out_shape, nullptr, 0};
  ASSERT_EQ(cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_bind_output_dlpack(session.get(), 0, &answer, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(x, y.data(), cuda_session_output(session.get(), 1)), "right");
  EXPECT_EQ(fake->calls("cuGraphInstantiateWithFlags"), 1);

  std::vector<float> columns(kSize);
  for (std::uint32_t i = 0; i < kSize; ++i) columns[i / 100 + i % 100 * 10] = x[i];
  std::int64_t strides[] = {1, 10};
  tensor.data = columns.data();
  tensor.strides = strides;
  ASSERT_EQ(cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(cuda_session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(x, y.data(), cuda_session_output(session.get(), 1)), "right") << "strided memory is staged";
}

TEST_F(CudaSessionTest, StartsAndWaits) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  ASSERT_EQ(cuda_session_wait(session.get(), &error), 0) << "nothing to wait for";
  const std::vector<float> x = numbers(2), next = numbers(30);
  std::vector<float> y(kSize);
  ASSERT_EQ(cuda_session_bind_output(session.get(), 0, y.data(), &error), 0);
  ASSERT_EQ(cuda_session_set_input(session.get(), 0, x.data(), nullptr, &error), 0);
  ASSERT_EQ(cuda_session_enqueue(session.get(), &error), 0) << error.message;
  EXPECT_EQ(y[1], 0) << "outputs on the host come with the wait";
  ASSERT_EQ(cuda_session_wait(session.get(), &error), 0) << error.message;
  EXPECT_EQ(compare(x, y.data(), cuda_session_output(session.get(), 1)), "right");
  ASSERT_EQ(cuda_session_enqueue(session.get(), &error), 0);
  ASSERT_EQ(cuda_session_set_input(session.get(), 0, next.data(), nullptr, &error), 0);
  ASSERT_EQ(cuda_session_enqueue(session.get(), &error), 0) << "waits for the one before";
  ASSERT_EQ(cuda_session_wait(session.get(), &error), 0);
  EXPECT_EQ(compare(next, y.data(), cuda_session_output(session.get(), 1)), "right");
}

TEST_F(CudaSessionTest, KeepsEveryRunsInputsAndOutputsApart) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  std::vector<float> seen;
  fake->add_kernel("add", 4, [&](const HostLaunch& l) {
    const auto at = [&](std::size_t i) { return static_cast<float*>(l.parameters[i]); };
    seen.push_back(at(0)[0]);
    for (std::uint32_t i = 0; i < kSize; ++i) at(2)[i] = at(0)[i] + at(1)[i];
    return 0;
  });
  const ModelHandle watched = open();
  const SessionHandle watching = make(watched);
  const std::vector<float> x = numbers(2), next = numbers(30);
  std::vector<float> y(kSize), other(kSize), z(kSize);
  ASSERT_EQ(cuda_session_bind_output(watching.get(), 0, y.data(), &error), 0);
  ASSERT_EQ(cuda_session_set_input(watching.get(), 0, x.data(), nullptr, &error), 0);
  ASSERT_EQ(cuda_session_enqueue(watching.get(), &error), 0) << error.message;
  ASSERT_EQ(cuda_session_set_input(watching.get(), 0, next.data(), nullptr, &error), 0);
  ASSERT_EQ(cuda_session_enqueue(watching.get(), &error), 0) << error.message;
  ASSERT_EQ(cuda_session_bind_output(watching.get(), 0, other.data(), &error), 0) << "waits for what was started";
  EXPECT_EQ(seen, (std::vector<float>{2, 30})) << "the first run read its input before the second came";
  EXPECT_EQ(compare(next, y.data(), cuda_session_output(watching.get(), 1)), "right");
  EXPECT_EQ(other[1], 0);
}

TEST_F(CudaSessionTest, RunsOnTheCallersStream) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  CUstream stream = nullptr;
  {
    const CurrentContext current(model->context);
    ASSERT_EQ(fake->driver().call.cuStreamCreate(&stream, 0), 0);
  }
  EXPECT_EQ(run(session.get(), 1), "right");
  ASSERT_EQ(cuda_session_set_stream(session.get(), stream, &error), 0);
  EXPECT_EQ(run(session.get(), 2), "right");
  EXPECT_EQ(fake->calls("cuStreamWaitEvent"), 1) << "behind the run on the other stream";
  EXPECT_EQ(run(session.get(), 3), "right");
  EXPECT_EQ(fake->calls("cuStreamWaitEvent"), 1);
  ASSERT_EQ(cuda_session_set_stream(session.get(), nullptr, &error), 0);
  EXPECT_EQ(run(session.get(), 4), "right");
  const CurrentContext current(model->context);
  EXPECT_EQ(fake->driver().call.cuStreamDestroy_v2(stream), 0);
}

TEST_F(CudaSessionTest, ProfilesStepsByEventsOfASecondGraph) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  cuda_session_set_profiling(session.get(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(session.get(), static_cast<float>(i)), "right");
  EXPECT_EQ(fake->last_graph(),
            "0 event\n1 kernel add after 0\n2 event after 1\n3 kernel sums after 2\n4 kernel total after 3\n"
            "5 event after 4\n6 kernel square after 5\n7 event after 6\n8 kernel subtract after 7\n9 event after 8\n"
            "10 copy after 9\n11 event after 10\n");
  whet_profile profile;
  cuda_session_profile(session.get(), &profile);
  EXPECT_EQ(profile.runs, 3u);
  ASSERT_EQ(profile.steps, 5u);
  EXPECT_STREQ(profile.step[1].node, "twice");
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 5; ++i) sum += profile.step[i].total_ns;
  EXPECT_GT(sum, 0u);
  EXPECT_LE(sum, profile.total_ns);
  cuda_session_set_profiling(session.get(), 0);
  EXPECT_EQ(run(session.get(), 7), "right");
  cuda_session_profile(session.get(), &profile);
  EXPECT_EQ(profile.runs, 3u);
}

TEST_F(CudaSessionTest, LetsFourThreadsHaveASessionEach) {
  begin();
  const ModelHandle model = open();
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      CudaSession* made = nullptr;
      if (cuda_session_create(model.get(), nullptr, &made, nullptr) != 0) return;
      const SessionHandle session(made);
      for (int i = 0; i < 50; ++i) {
        results[t] = run(session.get(), static_cast<float>(100 * t + static_cast<std::size_t>(i)));
        if (results[t] != "right") return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<std::string>(4, "right"));
}

TEST_F(CudaSessionTest, TellsOneThreadThatAnotherUsesTheSession) {
  begin();
  fake->add_rule({"cuEventSynchronize", 1, ScriptRule::What::late, 0, 300});
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  const std::vector<float> x = numbers(1);
  ASSERT_EQ(cuda_session_set_input(session.get(), 0, x.data(), nullptr, &error), 0);
  std::thread other([&] { EXPECT_EQ(cuda_session_run(session.get(), nullptr), 0); });
  while (fake->calls("cuEventSynchronize") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(cuda_session_run(session.get(), &error), -1);
  EXPECT_STREQ(error.message, "the session is already running in another thread; expected one session a thread");
  other.join();
}

TEST_F(CudaSessionTest, UploadsTheWeightsOnceAModel) {
  begin();
  const ModelHandle model = open();
  const std::size_t before = fake->memory_in_use();
  const SessionHandle first = make(model), second = make(model);
  const std::size_t tensors = (fake->memory_in_use() - before) / 2;
  EXPECT_EQ(before, kBytes);
  EXPECT_EQ(tensors, 4 * CudaTestModel::kRoom + 3 * 4096u) << "arena, input and outputs in units of 256 bytes";
  EXPECT_EQ(fake->calls("cuMemAlloc_v2"), 3);
}

TEST_F(CudaSessionTest, DescribesItsDevice) {
  begin({.version = 12040, .devices = {{}, {.name = "Other GPU", .arch = 86, .sms = 84}}});
  const ModelHandle model = open(0, 1);
  ASSERT_NE(model, nullptr) << error.message;
  EXPECT_STREQ(model->device.name, "Other GPU");
  EXPECT_STREQ(model->device.uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_STREQ(model->device.driver, "12.4");
  EXPECT_STREQ(model->device.image, "PTX for sm_80");
  EXPECT_EQ(model->device.arch, 86u);
  EXPECT_EQ(model->device.multiprocessors, 84u);
  EXPECT_STREQ(
      cuda_session_note(make(model).get()),
      "tuned for \"cuda -arch=sm_90 -sms=132\", running on Other GPU (sm_86, 84 multiprocessors): re-tune there "
      "for the best times");
}

TEST_F(CudaSessionTest, TakesACubinForTheDeviceBeforePtx) {
  const auto image_for = [&](int arch) -> std::string {
    test = CudaTestModel();
    test.set_images({testing::scripted_ptx(CudaTestModel::kernel_names(), 75),
                     testing::scripted_cubin(CudaTestModel::kernel_names(), 80),
                     testing::scripted_cubin(CudaTestModel::kernel_names(), 86),
                     testing::scripted_ptx(CudaTestModel::kernel_names(), 90)},
                    {{PlanImageFormat::ptx, 75, 0, 0},
                     {PlanImageFormat::cubin, 80, 0, 0},
                     {PlanImageFormat::cubin, 86, 0, 0},
                     {PlanImageFormat::ptx, 90, 0, 0}});
    begin({.devices = {{.arch = arch}}});
    const ModelHandle model = open();
    return model != nullptr ? model->device.image : error.message;
  };
  EXPECT_EQ(image_for(75), "PTX for sm_75");
  EXPECT_EQ(image_for(80), "cubin for sm_80");
  EXPECT_EQ(image_for(89), "cubin for sm_86");
  EXPECT_EQ(image_for(90), "PTX for sm_90");
  EXPECT_EQ(image_for(120), "PTX for sm_90");
  EXPECT_EQ(image_for(70),
            "model test has no code for cuda:0 (Scripted GPU), which is sm_70; it has PTX for sm_75 or newer, a cubin "
            "for sm_80, a cubin for sm_86, PTX for sm_90 or newer");
}

TEST_F(CudaSessionTest, TakesPtxWhereTheDriverIsTooOldForTheCubin) {
  test.set_images({testing::scripted_ptx(CudaTestModel::kernel_names(), 80),
                   testing::scripted_cubin(CudaTestModel::kernel_names(), 90)},
                  {{PlanImageFormat::ptx, 80, 0, 0}, {PlanImageFormat::cubin, 90, 0, 0}});
  begin();
  fake->add_rule({.function = "cuModuleLoadDataEx", .code = 200});
  const ModelHandle model = open();
  ASSERT_NE(model, nullptr) << error.message;
  EXPECT_STREQ(model->device.image, "PTX for sm_80");
  EXPECT_EQ(run(make(model).get(), 1), "right");
}

TEST_F(CudaSessionTest, CountsTheDevicesThatCanRunTheModel) {
  begin({.devices = {{.arch = 75}, {.arch = 80}, {.arch = 90}}});
  std::uint32_t count = 0;
  EXPECT_EQ(cuda_device_count(test.image(), fake->driver(), &count, &error), 0) << error.message;
  EXPECT_EQ(count, 2u);
  begin({.devices = {}});
  EXPECT_EQ(cuda_device_count(test.image(), fake->driver(), &count, &error), 0);
  EXPECT_EQ(count, 0u);
}

TEST_F(CudaSessionTest, GivesAllKernelsTheSamePartOfAnSmsMemory) {
  begin();
  test.plan.steps[1].launches[0].block_memory = 99000;
  const ModelHandle model = open();
  ASSERT_NE(model, nullptr) << error.message;
  const std::vector<int> percents = fake->percents_of_memory();
  EXPECT_GT(percents.size(), 1u);
  EXPECT_EQ(percents, std::vector<int>(percents.size(), 86)) << "twice 99,000 bytes and 1 KiB of 228 KiB";
}

// ---- Errors.

TEST_F(CudaSessionTest, RefusesWhatCannotBeOpened) {
  const auto error_of_open = [&](std::int32_t device) -> std::string {
    return open(0, device) != nullptr ? "opened" : error.message;
  };
  begin();
  EXPECT_EQ(error_of_open(1), "there is no device cuda:1; the driver has 1, counted from 0");
  EXPECT_EQ(error_of_open(-1), "there is no device cuda:-1; the driver has 1, counted from 0");
  test.plan.steps[0].launches[0].entry = "missing";
  EXPECT_EQ(error_of_open(0),
            "cuda:0 (Scripted GPU) cannot find the kernel missing: the device code lacks a function "
            "(CUDA_ERROR_NOT_FOUND, 500)");
  test = CudaTestModel();
  test.plan.steps[1].launches[0].block_memory = 300000;
  EXPECT_EQ(error_of_open(0), "the kernel sums needs 300000 bytes of memory a block; cuda:0 (Scripted GPU) has 232448");
  begin({.devices = {}});
  EXPECT_EQ(error_of_open(0), "cannot start CUDA: the driver finds no device (CUDA_ERROR_NO_DEVICE, 100)");
}

TEST_F(CudaSessionTest, TellsBothVersionsOfPtxThatTheDriverRefuses) {
  begin({.version = 12010});
  test.set_images({testing::scripted_ptx(CudaTestModel::kernel_names(), 80, "8.4")},
                  {{PlanImageFormat::ptx, 80, 0, 0}});
  EXPECT_EQ(open(), nullptr);
  EXPECT_STREQ(
      error.message,
      "cuda:0 (Scripted GPU) cannot load PTX 8.4 for sm_80 on sm_90 with the driver of CUDA 12.1: the PTX is of a "
      "newer "
      "version than the driver reads (CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222); ptxas application ptx input, line 1; "
      "fatal   : Unsupported .version 8.4");
}

TEST_F(CudaSessionTest, TellsHowMuchMemoryIsMissing) {
  begin({.devices = {{.memory = 20000}}});
  const ModelHandle model = open();
  ASSERT_NE(model, nullptr) << error.message;
  EXPECT_EQ(make(model), nullptr);
  EXPECT_STREQ(error.message, "cuda:0 (Scripted GPU): the arena needs 0.0 MB; 0.0 of 0.0 MB are free");
}

TEST_F(CudaSessionTest, RefusesTensorsThatItCannotUse) {
  begin({.devices = {{}, {}}});
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  EXPECT_EQ(cuda_session_run(session.get(), &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is not set; expected f32[10x100]");
  std::int64_t shape[] = {10, 100}, strides[] = {1, 10};
  const CUdeviceptr memory = fake->allocate(kBytes);
  const auto refusal = [&](whet_dltensor tensor) -> std::string {
    return cuda_session_set_input_dlpack(session.get(), 0, &tensor, &error) == 0 ? "taken" : error.message;
  };
  whet_dltensor tensor = on_device(memory, shape, 2);
  EXPECT_EQ(refusal(tensor), "taken");
  tensor.strides = strides;
  EXPECT_EQ(refusal(tensor), "input 0 \"x\" is f32[10x100]; the DLPack tensor is not contiguous");
  tensor = on_device(memory, shape, 2);
  tensor.device.device_id = 1;
  EXPECT_EQ(refusal(tensor),
            "input 0 \"x\" is f32[10x100]; the DLPack tensor is on cuda:1; expected memory of cuda:0 "
            "(Scripted GPU)");
  EXPECT_EQ(
      refusal(on_device(memory + 99999999, shape, 2)),
      "input 0 \"x\" is f32[10x100]; the DLPack tensor is on cuda:0, where its pointer is unknown; expected memory "
      "of cuda:0 (Scripted GPU)");
  tensor = on_device(memory, shape, 2);
  tensor.device.device_type = 10;
  EXPECT_EQ(refusal(tensor),
            "input 0 \"x\" is f32[10x100]; the DLPack tensor is on device type 10; expected 1 (CPU), 2 "
            "(CUDA) or 3 (pinned)");
  shape[1] = 99;
  EXPECT_EQ(refusal(on_device(memory, shape, 2)), "input 0 \"x\" is f32[10x100]; the DLPack tensor is f32[10x99]");
  fake->release(memory);
}

TEST_F(CudaSessionTest, IsNotUsedInAChildAfterFork) {
  begin();
  ModelHandle model = open();
  SessionHandle session = make(model);
  const pid_t child = fork();
  if (child == 0) {
    const std::string wanted = "CUDA cannot be used after fork(); open the model in the child";
    const bool refused = run(session.get(), 1) == wanted && make(model) == nullptr && error.message == wanted &&
                         open() == nullptr && error.message == wanted;
    session = nullptr;
    model = nullptr;
    const bool kept =
        fake->calls("cuGraphExecDestroy") + fake->calls("cuModuleUnload") + fake->calls("cuMemFree_v2") == 0;
    _exit(refused && kept ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  EXPECT_EQ(run(session.get(), 2), "right");
}

TEST_F(CudaSessionTest, GivesTheSameSentenceForEverAfterAStickyError) {
  begin({.devices = {{}, {}}});
  const ModelHandle model = open(), other = open(0, 1);
  const SessionHandle session = make(model), second = make(model), elsewhere = make(other);
  fake->add_kernel("square", 3, [](const HostLaunch&) { return 700; });
  const ModelHandle broken = open();
  const SessionHandle breaking = make(broken);
  const std::string sentence =
      "cuda:0 (Scripted GPU) cannot run model test: a kernel used memory that is not its own "
      "(CUDA_ERROR_ILLEGAL_ADDRESS, "
      "700); the process must end";
  EXPECT_EQ(run(breaking.get(), 1), sentence);
  EXPECT_EQ(run(breaking.get(), 1), sentence);
  EXPECT_EQ(run(session.get(), 1), sentence) << "another session of the device";
  EXPECT_EQ(make(model), nullptr);
  EXPECT_EQ(error.message, sentence);
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(error.message, sentence);
  EXPECT_EQ(cuda_session_wait(second.get(), &error), -1);
  EXPECT_EQ(error.message, sentence);
  EXPECT_EQ(run(elsewhere.get(), 1), "right") << "another device";
  fake->forgive();  // so that all can be given back
}

TEST_F(CudaSessionTest, TellsOfAKernelThatTheSystemStopped) {
  begin();
  const ModelHandle model = open();
  const SessionHandle session = make(model);
  fake->add_rule({"cuGraphLaunch", 1, ScriptRule::What::hangs, 702, 5});
  EXPECT_EQ(run(session.get(), 1),
            "cuda:0 (Scripted GPU) cannot run model test: a kernel took longer than the system allows "
            "(CUDA_ERROR_LAUNCH_TIMEOUT, 702); the process must end");
  fake->forgive();
}

/// Everything that a program does with a model, on the host and on the device; the first error, or "right".
class Life {
 public:
  explicit Life(ScriptedDriver& fake) : fake_(fake) { CudaTestModel::add_kernels(fake); }

  std::string live(std::uint32_t flags) {
    const whet_device_options options = {sizeof options, 0, flags};
    whet_error error{};
    CudaModel* opened = nullptr;
    if (cuda_model_open(test_.image(), fake_.driver(), &options, &opened, &error) != 0) return error.message;
    const ModelHandle model(opened);
    model_ = opened;
    CudaSession* made = nullptr;
    if (cuda_session_create(model.get(), nullptr, &made, &error) != 0) return error.message;
    const SessionHandle session(made);
    std::string result = run(session.get());
#define CALLS(name, suffix, version, parameters) calls[#name #suffix] = fake_.calls(#name #suffix);
    WHET_CUDA_FUNCTIONS(CALLS, CALLS)
#undef CALLS
    // What failed without a lost device works the next time.
    if (result != "right" && !is_lost()) {
      fake_.clear_rules();
      if (const std::string again = run(session.get()); again != "right") result = "not again: " + again;
    }
    return result;
  }

  std::map<std::string, int> calls;  ///< before all is given back: no error is told of that

 private:
  std::string run(CudaSession* session) {
    whet_error error{};
    const std::vector<float> first = numbers(1), second = numbers(2);
    for (const std::vector<float>* x : {&first, &second}) {
      if (cuda_session_set_input(session, 0, x->data(), nullptr, &error) != 0) return error.message;
      cuda_session_set_profiling(session, x == &second);
      if (cuda_session_run(session, &error) != 0) return error.message;
      const std::uint32_t wrong =
          test_.first_wrong(x->data(), static_cast<const float*>(cuda_session_output(session, 0)),
                            static_cast<const float*>(cuda_session_output(session, 1)));
      if (wrong != 0) return "wrong at " + std::to_string(wrong - 1);
    }
    return run_to_the_device(session, first);
  }

  /// The answer goes to memory of another library, so that the graph is made anew.
  std::string run_to_the_device(CudaSession* session, const std::vector<float>& x) {
    whet_error error{};
    std::int64_t shape[] = {kSize};
    const CUdeviceptr y = fake_.allocate(kBytes);
    const whet_dltensor tensor = {reinterpret_cast<void*>(y), {2, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
    const auto run = [&]() -> std::string {
      if (cuda_session_set_input(session, 0, x.data(), nullptr, &error) != 0 ||
          cuda_session_bind_output_dlpack(session, 0, &tensor, &error) != 0 || cuda_session_run(session, &error) != 0) {
        return error.message;
      }
      const std::uint32_t wrong = test_.first_wrong(x.data(), static_cast<const float*>(fake_.host_view(y)),
                                                    static_cast<const float*>(cuda_session_output(session, 1)));
      return wrong == 0 ? "right" : "wrong on the device";
    };
    std::string result = run();
    if (result != "right" && !is_lost()) {
      fake_.clear_rules();
      if (const std::string again = run(); again != "right") result = "not again: " + again;
    }
    fake_.release(y);
    cuda_session_bind_output(session, 0, nullptr, nullptr);
    return result;
  }

  bool is_lost() const { return check_usable(*model_, nullptr) != 0; }

  ScriptedDriver& fake_;
  CudaModel* model_ = nullptr;
  CudaTestModel test_;
};

TEST(CudaSessionErrors, AreToldOfEveryCallWithEveryKindOfCode) {
  constexpr CUresult kCodes[] = {1, 2, 46, 214, 700, 702, 719, 999};
  int cases = 0;
  for (std::uint32_t flags : {0u, static_cast<std::uint32_t>(WHET_DEVICE_NO_GRAPH)}) {
    std::map<std::string, int> calls;
    {
      ScriptedDriver fake;
      Life life(fake);
      ASSERT_EQ(life.live(flags), "right");
      calls = life.calls;
    }
    for (const auto& [function, count] : calls) {
      // What only gives something back has no answer to give.
      if (function == "cuCtxPopCurrent_v2" || function.find("Destroy") != std::string::npos) continue;
      for (int nth = 1; nth <= count; ++nth) {
        for (CUresult code : kCodes) {
          if (function == "cuModuleLoadDataEx" && code == 1) continue;     // loads again without an option
          if (function == "cuPointerGetAttribute" && code == 1) continue;  // means a pointer that is not known
          ScriptedDriver fake({.rules = {{function, nth, ScriptRule::What::code, code}}});
          const std::string told = Life(fake).live(flags);
          const bool memory = code == 2 && function == "cuMemAlloc_v2";
          const std::string name = memory ? "are free" : cuda_error_row(code).name;
          EXPECT_NE(told.find(name), std::string::npos) << function << " " << nth << " " << code << ": " << told;
          EXPECT_TRUE(fate_of(code).sticky || fake.alive().empty())
              << function << " " << nth << " " << code << ": " << fake.alive();
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(cases, 500);
}

TEST_F(CudaSessionTest, GivesThingsBackInTheirOrder) {
  begin();
  ModelHandle model = open();
  SessionHandle session = make(model);
  cuda_session_set_profiling(session.get(), 1);
  EXPECT_EQ(run(session.get(), 1), "right");
  const std::vector<float> x = numbers(1);
  ASSERT_EQ(cuda_session_set_input(session.get(), 0, x.data(), nullptr, &error), 0);
  cuda_session_set_profiling(session.get(), 0);
  ASSERT_EQ(cuda_session_enqueue(session.get(), &error), 0);
  session = nullptr;  // while a run is on its way
  EXPECT_EQ(fake->alive(), "1 allocations, 1 modules, 1 contexts");
  model = nullptr;
  EXPECT_EQ(fake->alive(), "");
}

}  // namespace cuda_stream_session_test
}  // namespace whet
