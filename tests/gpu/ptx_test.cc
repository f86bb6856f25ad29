// PTX of a whole network's default schedules, assembled where NVIDIA's assembler is installed.

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/testing/ptxas.h"
#include "cost/gpu/estimate.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "passes/optimize.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

/// The number of occurrences.
std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(GpuPtx, OfResNet18HasAnEntryALaunchAndNoSpill) {
  const std::string ptxas = installed_ptxas().path;
  if (ptxas.empty()) printf("ptxas is not installed: PTX is made, and not assembled\n");
  const Result<Graph> graph = zoo_model("resnet-18");
  ASSERT_TRUE(graph.ok());
  const Result<FusedGraph> fused = optimize(*graph, {});
  ASSERT_TRUE(fused.ok());
  for (const int arch : {80, 90}) {
    const Target target = *parse_target("cuda -arch=sm_" + std::to_string(arch));
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, target);
    ASSERT_TRUE(tasks.ok());
    for (const Task& task : *tasks) {
      SCOPED_TRACE(task.name + " for sm_" + std::to_string(arch));
      const Result<Steps> steps = default_steps(task.dag, target);
      ASSERT_TRUE(steps.ok());
      const Result<Lowered> lowered = lower(*replay(task.dag, *steps), target, task.within);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<Kernel> kernel = compile_kernel(lowered->program, target);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ(kernel->format, CodeFormat::ptx);
      EXPECT_EQ(count(kernel->code, ".visible .entry"), kernel->launches.size());
      EXPECT_EQ(estimate_launches(*replay(task.dag, *steps), target).size(), kernel->launches.size());
      EXPECT_EQ(count(kernel->code, ".local"), 0u) << "memory of a thread that is not registers";
      if (ptxas.empty()) continue;
      EXPECT_EQ(testing::assemble(kernel->code, arch).spills, 0);
    }
  }
}

}  // namespace
}  // namespace whet
