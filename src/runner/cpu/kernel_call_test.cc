#include "runner/cpu/kernel_call.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runner/testing/kernels.h"

namespace whet {
namespace {

using testing_kernels::kCount;

/// Runs a kernel of testing/kernels.c on zeros; gives its answer.
std::int32_t run(const std::string& name, std::uint32_t threads, std::vector<float>& output, bool parallel = true) {
  Kernel kernel = testing_kernels::kernel(WHET_TEST_KERNELS, name);
  kernel.launches[0].parallel = parallel;
  const Result<LoadedKernel> loaded = LoadedKernel::load(kernel);
  Team team;
  EXPECT_TRUE(loaded.ok() && team.ensure(threads, {{}, true}).ok());
  Workspaces workspaces;
  EXPECT_TRUE(workspaces.reserve(kernel, threads));
  std::vector<float> input(kCount);
  KernelCall call(*loaded, kernel.argument_bytes.size(), team);
  call.buffers = {input.data(), output.data()};
  call.set_workspaces(workspaces.common(), workspaces.own(kernel, threads));
  team.run([](void* c, std::uint32_t worker) { static_cast<KernelCall*>(c)->run(worker); }, &call);
  return call.failure();
}

TEST(KernelCall, RunsAKernelOnEveryWorker) {
  for (std::uint32_t threads : {1u, 2u, 3u}) {
    std::vector<float> output(kCount);
    EXPECT_EQ(run("two_phases", threads, output), 0);
    EXPECT_EQ(std::count(output.begin(), output.end(), 1.0f), kCount) << threads;
  }
}
TEST(KernelCall, RunsAKernelThatIsNotParallelOnOneWorkerOfTheTeam) {
  for (std::uint32_t threads : {1u, 3u}) {
    std::vector<float> output(kCount);
    EXPECT_EQ(run("two_phases", threads, output, false), 0);
    EXPECT_EQ(std::count(output.begin(), output.end(), 1.0f), kCount) << "it has no other workers to wait for";
  }
}
TEST(KernelCall, KeepsTheNumberThatAKernelReports) {
  std::vector<float> output(kCount);
  EXPECT_EQ(run("report_seven", 2, output), 7);
}
TEST(LineUp, BeginsEveryArgumentOnALineOfItsOwn) {
  const Stretch stretch = line_up({1, 64, 0});
  EXPECT_EQ(stretch.offsets, (std::vector<std::size_t>{0, 256, 512}));
  EXPECT_EQ(stretch.bytes, 704u);
}

}  // namespace
}  // namespace whet
