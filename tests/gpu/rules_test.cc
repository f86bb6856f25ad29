// What the rules find for the tasks of a network without the templates, by the estimate.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cost/features.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "lower/testing/verify_passes.h"
#include "passes/optimize.h"
#include "space/author.h"
#include "space/rules/derive.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

constexpr int kSamples = 48;  ///< of each side

/// The fastest by the estimate of the guesses of all sketches and of random candidates, as many for any sketches.
double best_seconds(const ComputeDag& dag, std::vector<Sketch> sketches, const Target& target) {
  for (Sketch& sketch : sketches) sketch.share = 1;
  const DesignSpace space(dag, std::move(sketches));
  std::vector<Candidate> candidates;
  for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
  Rng rng(1);
  while (std::ssize(candidates) < kSamples) candidates.push_back(space.sample(rng));
  double best = 1e9;
  for (const Candidate& candidate : candidates) {
    const Result<Scheduled> scheduled = space.schedule(candidate);
    EXPECT_TRUE(scheduled.ok()) << to_json(candidate) << ": " << scheduled.error().message;
    if (scheduled.ok()) best = std::min(best, analytic_seconds(scheduled->tree, target));
  }
  return best;
}

TEST(GpuRules, FindSchedulesOfANetworkThatAreAboutAsFastAsTheTemplates) {
  const Result<FusedGraph> fused = optimize(*zoo_model("resnet-18"), {});
  ASSERT_TRUE(fused.ok()) << fused.error().message;
  for (const char* text : {"cuda -model=t4", "cuda -model=a100", "cuda -model=h100"}) {
    const Target target = *parse_target(text);
    double of_rules = 0, of_templates = 0, worst = 0;
    std::string worst_task;
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, target);
    ASSERT_TRUE(tasks.ok()) << tasks.error().message;
    for (const Task& task : *tasks) {
      const std::vector<Sketch> rules = derive_sketches(task.dag, target, rules_for(target), {});
      ASSERT_FALSE(rules.empty()) << task.name;
      std::vector<Sketch> templates = make_space(task.dag, target).sketches();
      templates.resize(templates.size() - rules.size());
      const double by_rules = best_seconds(task.dag, rules, target),
                   by_templates = best_seconds(task.dag, templates, target);
      of_rules += task.weight * by_rules, of_templates += task.weight * by_templates;
      if (by_rules / by_templates > worst) worst = by_rules / by_templates, worst_task = task.name;
    }
    fmt::print("{}: rules {:.1f} us, templates {:.1f} us, ratio {:.2f}; worst task {:.2f}, {}\n", text, of_rules * 1e6,
               of_templates * 1e6, of_rules / of_templates, worst, worst_task);
    EXPECT_LE(of_rules, 1.3 * of_templates) << text;
    EXPECT_LE(worst, 1.3) << text << ", " << worst_task;
  }
}

/// The guess or a random candidate, by turns.
void expect_lowers(const Task& task, const Sketch& sketch, const Target& target, bool guess) {
  const DesignSpace space(task.dag, {sketch});
  Rng rng(1);
  const Candidate candidate = guess ? space.default_candidate() : space.sample(rng);
  SCOPED_TRACE(task.name + ": " + to_json(candidate) + "\n" + to_text(task.dag));
  const Result<Scheduled> scheduled = space.schedule(candidate);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const Result<Lowered> lowered = lower(scheduled->tree, target, task.within, testing::verify_gpu_passes(target));
  ASSERT_TRUE(lowered.ok()) << lowered.error().message << "\n" << to_text(scheduled->tree);
}

/// Every sketch of the rules for every task of the zoo, on one of three GPUs.
TEST(GpuRules, MakeSchedulesOfEveryTaskThatLower) {
  std::set<std::string> seen;
  std::size_t sketches = 0;
  for (const std::string& name : zoo_names()) {
    const Result<FusedGraph> fused = optimize(*zoo_model(name), {});
    ASSERT_TRUE(fused.ok()) << name << ": " << fused.error().message;
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, *parse_target("cuda -arch=sm_80"));
    ASSERT_TRUE(tasks.ok()) << name << ": " << tasks.error().message;
    for (const Task& task : *tasks) {
      if (!seen.insert(task.key).second) continue;
      const char* const archs[] = {"sm_75", "sm_80", "sm_90"};
      const Target target = *parse_target(std::string("cuda -arch=") + archs[seen.size() % 3]);
      const std::vector<Sketch> made = derive_sketches(task.dag, target, rules_for(target), {});
      EXPECT_FALSE(made.empty()) << name << ", " << task.name << "\n" << to_text(task.dag);
      for (const Sketch& sketch : made) expect_lowers(task, sketch, target, ++sketches % 2 == 0);
    }
  }
  EXPECT_GE(sketches, 300u);
}

}  // namespace
}  // namespace whet
