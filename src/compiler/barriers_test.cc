#include "compiler/barriers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"

namespace whet {
namespace {

/// A step from text: "P" (parallel) or "S" (worker 0 alone), then ranges "r0-64" (reads) and "w64-128" (writes) of the
/// arena; "h0-64" is its workspace.
void add_step(const std::string& text, std::vector<ModelPlan::Step>& steps, std::vector<std::vector<bool>>& written) {
  ModelPlan::Step step;
  std::vector<bool> stores;
  step.parallel = text[0] == 'P';
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1)) {
    const char kind = text[at + 1];
    std::size_t used = 0;
    const std::uint64_t begin = std::stoull(text.substr(at + 2), &used);
    const std::uint64_t end = std::stoull(text.substr(at + 2 + used + 1));
    if (kind == 'h') {
      step.workspace_offset = begin;
      step.workspace_bytes = end - begin;
      continue;
    }
    step.arguments.push_back({PlanPlace::arena, 0, begin, end - begin});
    stores.push_back(kind == 'w');
  }
  steps.push_back(step);
  written.push_back(stores);
}

/// "|" for a step behind a barrier, "." for another.
std::string barriers(std::initializer_list<const char*> texts) {
  std::vector<ModelPlan::Step> steps;
  std::vector<std::vector<bool>> written;
  for (const char* text : texts) add_step(text, steps, written);
  place_barriers(steps, written);
  std::string result;
  for (const ModelPlan::Step& step : steps) result += step.barrier ? '|' : '.';
  return result;
}

TEST(PlaceBarriers, BetweenAWriterAndItsReader) { EXPECT_EQ(barriers({"P w0-64", "P r0-64 w64-128"}), ".|"); }

TEST(PlaceBarriers, NotBetweenIndependentSteps) {
  EXPECT_EQ(barriers({"P r0-64 w64-128", "P r0-64 w128-192", "P r64-128 r128-192 w192-256"}), "..|");
}

TEST(PlaceBarriers, BeforeMemoryIsUsedAgain) {
  EXPECT_EQ(barriers({"P r0-64 w64-128", "P r200-264 w0-64"}), ".|") << "write after read";
  EXPECT_EQ(barriers({"P w0-64", "P w32-96"}), ".|") << "write after write";
}

TEST(PlaceBarriers, NotBetweenStepsOfWorkerZeroAlone) {
  EXPECT_EQ(barriers({"S w0-64", "S r0-64 w64-128", "S r64-128 w0-64", "P r0-64 w128-192"}), "...|");
}

TEST(PlaceBarriers, ForSharedWorkspaces) {
  EXPECT_EQ(barriers({"P w0-64 h128-192", "P w64-128 h128-192"}), ".|");
  EXPECT_EQ(barriers({"P w0-64 h128-192", "P w64-128 h192-256"}), "..");
}

TEST(PlaceBarriers, OneBarrierServesAllStepsBefore) {
  EXPECT_EQ(barriers({"P w0-64", "P w64-128", "P r0-64 w128-192", "P r64-128 w192-256"}), "..|.");
}

/// Each range of a step against each of the steps since the last barrier.
std::string barriers_by_definition(const std::vector<ModelPlan::Step>& steps,
                                   const std::vector<std::vector<bool>>& written) {
  std::string result;
  std::size_t since = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    bool barrier = false;
    for (std::size_t k = since; k < i; ++k)
      for (std::size_t a = 0; a < steps[i].arguments.size(); ++a)
        for (std::size_t b = 0; b < steps[k].arguments.size(); ++b) {
          const PlanArgument &x = steps[i].arguments[a], &y = steps[k].arguments[b];
          const bool meet = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
          const bool alone = !steps[i].parallel && !steps[k].parallel;
          barrier = barrier || (meet && !alone && (written[i][a] || written[k][b]));
        }
    if (barrier) since = i;
    result += barrier ? '|' : '.';
  }
  return result;
}

TEST(PlaceBarriers, AreThoseOfTheDefinition) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<ModelPlan::Step> steps(static_cast<std::size_t>(rng.between(1, 40)));
    std::vector<std::vector<bool>> written;
    const double parallel = rng.chance(0.5) ? 0.1 : 0.7;
    for (ModelPlan::Step& step : steps) {
      step.parallel = rng.chance(parallel);
      written.emplace_back();
      for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
        const auto lines = [&](std::int64_t most) { return 64 * static_cast<std::uint64_t>(rng.below(most)); };
        step.arguments.push_back({PlanPlace::arena, 0, lines(40), 64 + lines(3)});
        written.back().push_back(rng.chance(0.3));
      }
    }
    std::string found;
    const std::string wanted = barriers_by_definition(steps, written);
    place_barriers(steps, written);
    for (const ModelPlan::Step& step : steps) found += step.barrier ? '|' : '.';
    ASSERT_EQ(found, wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace whet
