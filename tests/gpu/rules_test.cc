// What the rules find for the tasks of a network without the templates, by the estimate.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cost/features.h"
#include "import/zoo/zoo.h"
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

}  // namespace
}  // namespace whet
