// Every task of every network of the zoo has a schedule for every GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cost/gpu/estimate.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "lower/testing/verify_passes.h"
#include "passes/optimize.h"
#include "program/launch.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace gpu_zoo_test {

FusedGraph fused_of(const std::string& network, const PassOptions& passes) {
  Result<Graph> graph = zoo_model(network);
  WHET_CHECK(graph.ok());
  Result<FusedGraph> fused = optimize(*std::move(graph), passes);
  WHET_CHECK(fused.ok());
  return *std::move(fused);
}

std::size_t launches_of(const Program& program) {
  const std::vector<Stmt> top = top_statements(program);
  return static_cast<std::size_t>(
      std::count_if(top.begin(), top.end(), [](const Stmt& s) { return launch_nest(s).has_value(); }));
}

TEST(GpuZoo, EveryTaskHasADefaultScheduleThatLowers) {
  std::set<std::string> seen;
  int tiled = 0;
  for (const std::string& name : zoo_names()) {
    const FusedGraph fused = fused_of(name, {});
    for (const char* arch : {"sm_75", "sm_90"}) {
      const Target target = *parse_target(std::string("cuda -arch=") + arch);
      const Result<std::vector<Task>> tasks = extract_tasks(fused, target);
      ASSERT_TRUE(tasks.ok()) << name << ": " << tasks.error().message;
      for (const Task& task : *tasks) {
        if (!seen.insert(arch + task.key).second) continue;
        const Result<Steps> steps = default_steps(task.dag, target);
        ASSERT_TRUE(steps.ok()) << name << ", " << task.name << ": " << steps.error().message;
        const LoopTree tree = *replay(task.dag, *steps);
        const Result<Lowered> lowered = lower(tree, target, task.within, testing::verify_gpu_passes(target));
        ASSERT_TRUE(lowered.ok()) << name << ", " << task.name << ": " << lowered.error().message << "\n"
                                  << to_text(*steps) << "\n"
                                  << to_text(task.dag);
        tiled += std::any_of(tree.places.begin(), tree.places.end(),
                             [](const Placement& place) { return place.stored_in == StoredIn::block; });
        EXPECT_EQ(estimate_launches(tree, target).size(), launches_of(lowered->program)) << task.name;
      }
    }
  }
  EXPECT_GE(seen.size(), 600u);
  EXPECT_GE(tiled, 200);
}

/// Two of googlenet's concatenations have parts that begin on no cache line in f16: they are copied.
TEST(GpuZoo, InHalvesHasNoKernelMore) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const auto kernels = [&](const std::string& network, bool halves) {
    const std::vector<Task> tasks = extract_tasks(fused_of(network, {.halves = halves}), target).value();
    std::int64_t count = 0;
    for (const Task& task : tasks) count += task.weight;
    return count;
  };
  for (const std::string& name : zoo_names())
    EXPECT_LE(kernels(name, true), kernels(name, false) + (name == "googlenet" ? 2 : 0)) << name;
}

TEST(GpuZoo, InHalvesHasDefaultSchedulesOnTensorCores) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const SpaceOptions options{.precision = Precision::f16};
  int halves = 0;
  for (const char* name : {"resnet-18", "mobilenet_v3_small", "bert-mini"}) {
    const std::vector<Task> tasks = extract_tasks(fused_of(name, {.halves = true}), target).value();
    for (const Task& task : tasks) {
      SCOPED_TRACE(std::string(name) + ", " + task.name);
      const DesignSpace space = make_space(task.dag, target, options);
      const Result<Steps> steps = default_steps(task.dag, target, options);
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      halves += space.default_candidate().sketch == "mma_half";
      const Result<Lowered> lowered =
          lower(*replay(task.dag, *steps), target, task.within, testing::verify_gpu_passes(target));
      ASSERT_TRUE(lowered.ok()) << lowered.error().message << "\n" << to_text(*steps) << "\n" << to_text(task.dag);
    }
  }
  EXPECT_GE(halves, 35);
}

}  // namespace gpu_zoo_test
}  // namespace whet
