#include "plan/layer_precisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "records/testing/sample.h"
#include "space/space.h"

namespace whet {
namespace layer_precisions_test {

constexpr double kBudget = 1e-4;  // of squares: 1%

/// Three convolutions behind one that reads three channels.
FusedGraph network() {
  testing::GraphBuilder b;
  ValueId x = b.relu("first", b.conv("f", b.input("x", {1, 3, 6, 6}), 16, 3, 1, 1));
  for (const char* name : {"a", "b", "c"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
  return optimize(b.finish({x}), {}).value();
}

/// The network's records: usual kernels take 10 us, those that round 5, copies 1; each layer alone errs by half a percent.
class LayerPrecisions : public ::testing::Test {
 protected:
  LayerPrecisions() {
    options_.covers = false, options_.lowered = {StoredAs::bf16};
    alternatives_ = find_alternatives(fused_, target_, options_).value();
    for (const Alternative& each : alternatives_.all) {
      if (each.task < 0) continue;
      time(each, each.rounds_product ? 5e-6 : each.kind == AlternativeKind::transform ? 1e-6 : 10e-6);
    }
    for (const Alternative& each : alternatives_.all)
      if (each.rounds_product) add_error(fused_.graph.value(each.fragment.writes.front().value).name, 5e-3);
  }
  void time(const Alternative& alternative, double seconds) {
    const Task& task = alternatives_.tasks[static_cast<std::size_t>(alternative.task)];
    records_.add(
        testing_records::timed(task.key, to_text(*default_steps(task.dag, target_)), seconds, to_string(target_)));
  }
  void add_error(const std::string& node, double error, const std::string& samples = "s") {
    LayerError line;
    line.graph = hash_of(fused_), line.weights = hash_of_constants(fused_), line.samples = samples;
    line.node = node, line.error = line.worst = error, line.target = to_string(target_);
    records_.add(line);
  }
  /// A plan of the lowered kernels of these names.
  void adopt(const std::vector<PlannedKernel>& kernels, const std::string& weights = "") {
    Plan plan;
    plan.graph = hash_of(fused_), plan.target = to_string(target_), plan.kernels = kernels;
    plan.precision = PlanPrecision{.samples = "s", .weights = weights.empty() ? hash_of_constants(fused_) : weights};
    plan.precision->budget = kBudget;
    records_.add(plan);
  }
  LoweredKernels kernels() const {
    Result<LoweredKernels> found = lowered_kernels(fused_, records_, target_);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found.ok() ? *found : LoweredKernels();
  }
  LayerPrecision layer(const std::string& node) const {
    const std::vector<LayerPrecision> layers = layer_precisions(fused_, kernels());
    const auto found = std::ranges::find(layers, node, &LayerPrecision::node);
    EXPECT_NE(found, layers.end()) << node;
    return found == layers.end() ? LayerPrecision() : *found;
  }

  FusedGraph fused_ = network();
  Target target_ = parse_target("cpu -mcpu=znver4 -threads=1").value();
  AlternativeOptions options_;
  Alternatives alternatives_;
  Records records_;
};

TEST_F(LayerPrecisions, AreOfThePlanThatWasAdopted) {
  adopt({{"first", "nhwc -> bf16"}, {"a_relu", "bf16 -> nhwc"}});
  const LayerPrecision lowered = layer("a_relu");
  EXPECT_TRUE(lowered.lowered);
  EXPECT_EQ(lowered.is, "bf16 -> nhwc");
  EXPECT_NEAR(*lowered.error, 5e-3, 1e-12);
  EXPECT_NEAR(lowered.share, 0.25, 1e-9) << "half of the error is a quarter of its square";
  EXPECT_NEAR(lowered.saves, 5e-6, 1e-12);
  EXPECT_EQ(lowered.why, "");
  const LayerPrecision other = layer("b_relu");
  EXPECT_EQ(other.is, "f32");
  EXPECT_EQ(other.why, "bf16 would take 25% of the budget for 5.0 us");
  EXPECT_EQ(other.share, 0);
}

TEST_F(LayerPrecisions, HaveEachKernelThatRoundsWithItsTimeAndItsError) {
  const std::vector<LoweredWay> ways = layer("b_relu").ways;
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].forms, "bf16 -> nhwc");
  EXPECT_EQ(ways[1].forms, "bf16");
  for (const LoweredWay& way : ways) {
    EXPECT_NEAR(way.seconds, 5e-6, 1e-12);
    EXPECT_NEAR(*way.error, 5e-3, 1e-12);
  }
}

TEST_F(LayerPrecisions, SayWhyALayerIsFloat) {
  EXPECT_EQ(layer("first").why, "its 3 terms are no pairs");
  EXPECT_EQ(layer("a_relu").why, "no plan was adopted");
  adopt({{"first", "nhwc -> bf16"}, {"a_relu", "bf16 -> nhwc"}});
  add_error("b_relu", 0.02);
  EXPECT_EQ(layer("b_relu").why, "bf16 alone breaks the limit");
  records_ = Records();
  EXPECT_EQ(layer("b_relu").why, "its error was not measured: there was no time, or its answers were not finite");
  add_error("b_relu", 0.02);
  EXPECT_EQ(layer("b_relu").why, "no kernel of fewer bits was measured");
}

TEST_F(LayerPrecisions, SayWhyALayerIsFloatInAPlanOfOneType) {
  Plan plan;
  plan.graph = hash_of(fused_), plan.target = to_string(target_);
  plan.kernels = {{"first", "nhwc -> bf16"}, {"a_relu", "bf16 -> nhwc"}};
  plan.precision = PlanPrecision{.samples = "s", .weights = hash_of_constants(fused_), .uniform = "u8"};
  records_.add(plan);
  EXPECT_EQ(layer("b_relu").why, "no kernel computes it on bytes");
  EXPECT_EQ(layer("a_relu").why, "");
  EXPECT_EQ(layer("a_relu").share, 0) << "it has no budget";
}

TEST_F(LayerPrecisions, TakeTheErrorsOfThePlansSamples) {
  add_error("a_relu", 0.5, "other samples");
  EXPECT_NEAR(*layer("a_relu").error, 0.5, 1e-12) << "without a plan those that were used last";
  adopt({{"first", "nhwc -> bf16"}, {"a_relu", "bf16 -> nhwc"}});
  EXPECT_NEAR(*layer("a_relu").error, 5e-3, 1e-12);
}

TEST_F(LayerPrecisions, TakeNoPlanOfOtherWeights) {
  adopt({{"first", "nhwc -> bf16"}, {"a_relu", "bf16 -> nhwc"}}, "0123");
  const LoweredKernels found = kernels();
  EXPECT_EQ(found.line, nullptr);
  EXPECT_TRUE(found.note.starts_with("the records' plan in fewer bits is of other weights (hash 0123, these "))
      << found.note;
  EXPECT_EQ(layer("a_relu").is, "f32");
}

TEST_F(LayerPrecisions, TellWhatAnotherBudgetWouldGive) {
  const LoweredKernels found = kernels();
  const auto none = estimate_within(fused_, found, 0), one = estimate_within(fused_, found, 1.01 * 25e-6),
             all = estimate_within(fused_, found, 1);
  ASSERT_TRUE(none && one && all);
  EXPECT_EQ(none->lowered, 0u);
  EXPECT_EQ(none->part, 1);
  EXPECT_EQ(one->lowered, 1u);
  EXPECT_EQ(all->lowered, 3u);
  EXPECT_LT(all->part, one->part);
  EXPECT_NEAR(all->error, std::sqrt(3) * 5e-3, 1e-9);
  records_ = Records();
  EXPECT_FALSE(estimate_within(fused_, kernels(), 1).has_value()) << "nobody measured the usual kernels";
}

}  // namespace layer_precisions_test
}  // namespace whet
