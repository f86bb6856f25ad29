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
namespace {

std::size_t launches_of(const Program& program) {
  const std::vector<Stmt> top = top_statements(program);
  return static_cast<std::size_t>(
      std::count_if(top.begin(), top.end(), [](const Stmt& s) { return launch_nest(s).has_value(); }));
}

TEST(GpuZoo, EveryTaskHasADefaultScheduleThatLowers) {
  std::set<std::string> seen;
  int products = 0;
  for (const std::string& name : zoo_names()) {
    const Result<Graph> graph = zoo_model(name);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().message;
    const Result<FusedGraph> fused = optimize(*graph, {});
    ASSERT_TRUE(fused.ok()) << name << ": " << fused.error().message;
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      const Target target = *parse_target(std::string("cuda -arch=") + arch);
      const Result<std::vector<Task>> tasks = extract_tasks(*fused, target);
      ASSERT_TRUE(tasks.ok()) << name << ": " << tasks.error().message;
      for (const Task& task : *tasks) {
        if (!seen.insert(arch + task.key).second) continue;
        const Result<Steps> steps = default_steps(task.dag, target);
        ASSERT_TRUE(steps.ok()) << name << ", " << task.name << ": " << steps.error().message;
        const Result<Lowered> lowered =
            lower(*replay(task.dag, *steps), target, task.within, testing::verify_gpu_passes(target));
        products += make_space(task.dag, target).default_candidate().sketch == "product";
        ASSERT_TRUE(lowered.ok()) << name << ", " << task.name << ": " << lowered.error().message << "\n"
                                  << to_text(*steps) << "\n"
                                  << to_text(task.dag);
        EXPECT_EQ(estimate_launches(*replay(task.dag, *steps), target).size(), launches_of(lowered->program))
            << task.name;
      }
    }
  }
  EXPECT_GE(seen.size(), 300u);
  EXPECT_GE(products, 200);
}

}  // namespace
}  // namespace whet
