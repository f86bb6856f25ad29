#include "tuner/plan_decision.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/random_cases.h"
#include "compiler/scratch.h"
#include "device/testing/fake_devices.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

namespace whet {
namespace plan_decision_test {

/// Two convolutions; the sums propose a plan with a kernel on blocks of 8 channels.
class PlanDecisionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitized) GTEST_SKIP() << "no thread here that other tests of the tuner do not have";
    testing::GraphBuilder b;
    ValueId x = b.relu("r0", b.input("x", {1, 16, 8, 8}));
    for (const char* name : {"a", "b"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
    fused_ = optimize(b.finish({x}), {}).value();
    alternatives_ = find_alternatives(fused_, target_, {.forms = {{8}}, .covers = false}).value();
  }
  /// Where the network takes `planned` with the plan and 1 ms without.
  PlanSearch decide(double planned) {
    RecordFile file = RecordFile::open(folder_.path() + "/r.jsonl").value();
    PlanHopes hopes(fused_, target_, alternatives_, file.records(), {.hope = 0.5});
    hopes.learn({});
    testing::ReopeningDevice device([](const KernelJob&) { return 1e-6; });
    device.model_seconds = [&](const std::string& path) { return path.ends_with("usual.so") ? 1e-3 : planned; };
    PlanSearch search;
    search.plans.usual = hopes.best(hopes.prices(), 0)->usual;
    search.plans.usual.seconds = 1e-3;
    const auto blocked =
        std::ranges::find(alternatives_.all, AlternativeKind::layout, &Alternative::kind) - alternatives_.all.begin();
    const PlanOptions on_blocks{.required = {static_cast<int>(blocked)}};
    search.plans.best = {best_plans(fused_, alternatives_, hopes.prices(), on_blocks)->best.front()};
    search.plans.best.front().seconds = 0.8e-3;
    PlanDecision decision(fused_, target_, alternatives_, hopes, {{}}, file, device, options_);
    const Status status = decision.decide(0.7e-3, search);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    lines_ = file.records().plans().size();
    return search;
  }

  Target target_ = parse_target("cpu -mcpu=haswell -threads=1").value();
  ScratchDirectory folder_ = ScratchDirectory::make().value();
  FusedGraph fused_;
  Alternatives alternatives_;
  PlanSearchOptions options_;
  std::size_t lines_ = 0;
};

TEST_F(PlanDecisionTest, TakesThePlanThatTheNetworkIsFasterWith) {
  const PlanSearch search = decide(0.9e-3);
  ASSERT_EQ(search.tried.size(), 1u);
  EXPECT_TRUE(search.tried.front().adopted);
  EXPECT_FALSE(search.chosen.kernels.empty());
  EXPECT_EQ(search.chosen.seconds, 0.8e-3);
  EXPECT_EQ(search.chosen.bound_seconds, 0.7e-3);
  EXPECT_NEAR(search.chosen.network_seconds, 0.9e-3, 1e-9);
  EXPECT_EQ(lines_, 1u);
}

TEST_F(PlanDecisionTest, KeepsTheUsualPlanWhereTheNetworkIsNotFaster) {
  const PlanSearch search = decide(1.1e-3);
  ASSERT_EQ(search.tried.size(), 1u);
  EXPECT_FALSE(search.tried.front().adopted);
  EXPECT_TRUE(search.chosen.kernels.empty());
  EXPECT_EQ(lines_, 1u) << "the usual plan is a decision too";
}

TEST_F(PlanDecisionTest, DecidesNothingAfterAnInterrupt) {
  options_.tuning.interrupted = [] { return true; };
  const PlanSearch search = decide(0.9e-3);
  EXPECT_TRUE(search.interrupted);
  EXPECT_TRUE(search.tried.empty());
  EXPECT_EQ(lines_, 0u);
}

TEST(WaysOfLaying, AreOfTheWholeExcess) {
  testing::GraphBuilder b;
  const FusedGraph fused = optimize(b.finish({b.relu("r", b.input("x", {1, 16, 8, 8}))}), {}).value();
  const Target target = parse_target("cpu -mcpu=haswell -threads=1").value();
  const Alternatives alternatives = find_alternatives(fused, target, {}).value();
  EXPECT_EQ(ways_of_laying(0, alternatives), std::vector<NetworkExcess>{{}});
  const double bytes = static_cast<double>(activation_bytes(alternatives.tasks.front()));
  const std::vector<NetworkExcess> ways = ways_of_laying(1e-3, alternatives);
  ASSERT_EQ(ways.size(), 4u);
  EXPECT_EQ(ways[0], (NetworkExcess{1e-3 / bytes, 0}));
  EXPECT_EQ(ways[1], (NetworkExcess{0, 1e-3}));
  EXPECT_EQ(ways[2], (NetworkExcess{0.5e-3 / bytes, 0.5e-3}));
  EXPECT_EQ(ways[3], NetworkExcess());
}

}  // namespace plan_decision_test
}  // namespace whet
