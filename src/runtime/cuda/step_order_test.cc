#include "runtime/cuda/step_order.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "artifact/model_plan.h"

namespace whet {
namespace {

PlanArgument arena(std::uint64_t offset, std::uint64_t bytes = 256) { return {PlanPlace::arena, 0, offset, bytes}; }
PlanArgument input() { return {PlanPlace::input, 0, 0, 256}; }
PlanArgument weights() { return {PlanPlace::weights, 0, 0, 256}; }

/// A step that reads all arguments but the last, and writes that.
ModelPlan::Step step(std::vector<PlanArgument> arguments, bool part = false) {
  ModelPlan::Step s;
  s.written = 1u << (arguments.size() - 1);
  s.arguments = std::move(arguments);
  s.part = part;
  s.launches = {{"k", {1, 1, 1}, {32, 1, 1}, 0, false, 0, static_cast<std::uint32_t>(s.arguments.size())}};
  return s;
}

class Plan {
 public:
  explicit Plan(std::vector<ModelPlan::Step> steps) {
    ModelPlan plan;
    plan.device = "cuda sm_80";
    plan.arena_bytes = 1 << 20;
    plan.weights_bytes = 256;
    plan.inputs = {{"x", 0, {64}, 256}};
    plan.outputs = {{"y", 0, {64}, 256}};
    plan.steps = std::move(steps);
    const std::string stored = write_plan(plan);
    stored_.resize(stored.size() / 8);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    whet_error error{};
    EXPECT_EQ(parse_model(stored_.data(), stored.size(), &view, &error), 0) << error.message;
  }
  ModelView view;

 private:
  std::vector<std::uint64_t> stored_;
};

/// "1:0 2:0 3:2,1": each step and what it waits for; steps that wait for none are left out.
std::string order_of(const Plan& plan, bool chain = false) {
  StepOrder order;
  whet_error error{};
  EXPECT_EQ(find_step_order(plan.view, chain, &order, &error), 0) << error.message;
  std::string text;
  for (std::uint32_t i = 0; i < plan.view.header->steps.count; ++i) {
    for (std::uint32_t e = order.first[i]; e < order.first[i + 1]; ++e) {
      text += e == order.first[i] ? (text.empty() ? "" : " ") + std::to_string(i) + ":" : ",";
      text += std::to_string(order.before[e]);
    }
  }
  free_step_order(&order);
  return text;
}

TEST(StepOrder, FollowsTheData) {
  EXPECT_EQ(order_of(Plan({step({input(), arena(0)}), step({arena(0), arena(256)}), step({arena(256), arena(512)})})),
            "1:0 2:1");
}

TEST(StepOrder, LeavesBranchesApart) {
  EXPECT_EQ(order_of(Plan({step({input(), arena(0)}), step({arena(0), arena(256)}), step({arena(0), arena(512)}),
                           step({arena(256), arena(512), arena(768)})})),
            "1:0 2:0 3:2,1");
}

TEST(StepOrder, KeepsAReaderBeforeTheNextWriter) {
  EXPECT_EQ(order_of(Plan({step({input(), arena(0)}), step({arena(0), arena(256)}), step({input(), arena(0)})})),
            "1:0 2:1");
}

TEST(StepOrder, LetsStepsShareWhatNobodyWrites) {
  EXPECT_EQ(order_of(Plan({step({input(), weights(), arena(0)}), step({input(), weights(), arena(256)})})), "");
}

TEST(StepOrder, OrdersWritersOfOneTensorButNotOfItsParts) {
  const PlanArgument first = arena(0, 1024), second = arena(256, 768);
  EXPECT_EQ(order_of(Plan({step({input(), first}), step({input(), second})})), "1:0");
  EXPECT_EQ(order_of(Plan(
                {step({input(), first}, true), step({input(), second}, true), step({arena(0, 1024), arena(2048)})})),
            "2:1,0");
}

TEST(StepOrder, CountsWorkspacesAsWritten) {
  ModelPlan::Step with_workspace = step({input(), arena(0)});
  with_workspace.workspace_offset = 1024;
  with_workspace.workspace_bytes = 512;
  EXPECT_EQ(order_of(Plan({with_workspace, step({input(), arena(1280)})})), "1:0");
  EXPECT_EQ(order_of(Plan({step({input(), arena(1280)}), with_workspace})), "1:0");
  EXPECT_EQ(order_of(Plan({with_workspace, with_workspace})), "1:0");
  EXPECT_EQ(order_of(Plan({with_workspace, step({input(), arena(1536)})})), "");
}

TEST(StepOrder, TakesEveryArgumentForWrittenWhereAStepSaysNothing) {
  ModelPlan::Step silent = step({arena(0), arena(256)});
  silent.written = 0;
  EXPECT_EQ(order_of(Plan({step({arena(0), arena(512)}), silent})), "1:0");
  EXPECT_EQ(order_of(Plan({step({arena(0), arena(512)}), step({arena(0), arena(256)})})), "");
}

TEST(StepOrder, IsAChainWhereThatIsAsked) {
  EXPECT_EQ(order_of(Plan({step({input(), arena(0)}), step({input(), arena(256)}), step({input(), arena(512)})}), true),
            "1:0 2:1");
}

/// Two steps are ordered, perhaps through others, exactly where a chain of conflicts leads from one to the other.
TEST(StepOrder, OrdersExactlyWhatConflictsAndNothingTwice) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ModelPlan::Step> steps;
    for (int i = 0; i < 12; ++i) {
      steps.push_back(step({arena(256 * (random() % 8)), arena(256 * (random() % 8)), arena(256 * (random() % 8))}));
    }
    const Plan plan(steps);
    std::vector<std::set<std::uint32_t>> reach(12), wanted(12);
    for (std::uint32_t b = 0; b < 12; ++b) {
      for (std::uint32_t a = 0; a < b; ++a) {
        const auto touches = [](const ModelPlan::Step& s, std::uint64_t offset) {
          return s.arguments[0].offset == offset || s.arguments[1].offset == offset || s.arguments[2].offset == offset;
        };
        if (!touches(steps[a], steps[b].arguments[2].offset) && !touches(steps[b], steps[a].arguments[2].offset))
          continue;
        wanted[b].insert(a);
        wanted[b].insert(wanted[a].begin(), wanted[a].end());
      }
    }
    StepOrder order;
    ASSERT_EQ(find_step_order(plan.view, false, &order, nullptr), 0);
    for (std::uint32_t i = 0; i < 12; ++i) {
      for (std::uint32_t e = order.first[i]; e < order.first[i + 1]; ++e) {
        const std::uint32_t before = order.before[e];
        EXPECT_EQ(reach[i].count(before), 0u) << "an edge that follows from the others";
        reach[i].insert(before);
        reach[i].insert(reach[before].begin(), reach[before].end());
      }
    }
    free_step_order(&order);
    EXPECT_EQ(reach, wanted);
  }
}

}  // namespace
}  // namespace whet
