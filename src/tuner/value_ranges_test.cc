#include "tuner/value_ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

namespace whet {
namespace value_ranges_test {

Result<RunNetwork> interpreted(const FusedGraph& fused) {
  return RunNetwork([graph = fused.graph](const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
    WHET_TRY(const std::vector<Tensor> values, evaluate_graph(graph, inputs));
    std::vector<Tensor> outputs;
    for (ValueId id : graph.outputs) outputs.push_back(values[id.index()]);
    return outputs;
  });
}

std::vector<Tensor> sample(double least, double most) {
  return {Tensor::of<double>(DType::f32, {1, 2}, {least, most})};
}

/// Of a network that computes max(x, 0): its input's range, and its output's.
struct Ranges {
  ValueRanges all;
  ValueRange x, y;
};
Ranges ranges_by(const SampleInputs& calibration, const SampleInputs& held_out = {}) {
  testing::GraphBuilder b;
  const FusedGraph fused = optimize(b.finish({b.relu("y", b.input("x", {1, 2}))}), {}).value();
  const std::string y = fused.graph.value(fused.graph.outputs.front()).name;
  Ranges found{measure_ranges(fused, calibration, held_out, interpreted, {}).value().value(), {}, {}};
  if (found.all.contains("x")) found.x = found.all.at("x");
  if (found.all.contains(y)) found.y = found.all.at(y);
  return found;
}

TEST(RangesOnSamples, AreTheirsWhereAllReachAsFar) {
  const Ranges ranges = ranges_by({sample(-1, 3), sample(-1, 3), sample(-1, 3)});
  EXPECT_EQ(ranges.x, (ValueRange{-1, 3}));
  EXPECT_EQ(ranges.y, (ValueRange{0, 3}));
}

TEST(RangesOnSamples, GoFurtherWhereSamplesDiffer) {
  const Ranges ranges = ranges_by({sample(-1, 1), sample(-1, 2), sample(-1, 3)});
  // Gumbel's law of the mean 2 and the deviation 1.
  EXPECT_NEAR(kRoomBeyondRange * ranges.x.most, 2 + 6.7312, 1e-3);
  EXPECT_NEAR(ranges.y.most, ranges.x.most, 1e-9);
  EXPECT_EQ(ranges.x.least, -1) << "all reach as far below zero";
  EXPECT_EQ(ranges.y.least, 0);
}

TEST(RangesOnSamples, StayOnTheSideOfZeroOfAllNumbers) {
  const ValueRange above = ranges_by({sample(0.1, 1), sample(0.2, 1), sample(0.3, 1)}).x;
  EXPECT_GT(above.least, 0);
  const ValueRange below = ranges_by({sample(-1, -0.1), sample(-1, -0.2), sample(-1, -0.3)}).x;
  EXPECT_LT(below.most, 0);
}

TEST(RangesOnSamples, CountHeldOutSamplesThatGoBeyondTheirRoom) {
  const SampleInputs calibration = {sample(-1, 1), sample(-1, 1), sample(-1, 1)};
  EXPECT_EQ(ranges_by(calibration, {sample(-1.2, 1.2)}).x, (ValueRange{-1, 1})) << "there is room for these";
  const ValueRange above = ranges_by(calibration, {sample(-1, 4)}).x, below = ranges_by(calibration, {sample(-4, 1)}).x;
  EXPECT_GE(above.most, 4);
  EXPECT_EQ(above.least, -1);
  EXPECT_LE(below.least, -4);
  EXPECT_EQ(below.most, 1);
}

TEST(RangesOnSamples, AreNotThereWhereANumberIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(ranges_by({sample(-1, 1), sample(-1, infinity)}).all.empty());
  EXPECT_TRUE(ranges_by({sample(-1, 1)}, {sample(-1, infinity)}).all.empty());
  const Ranges ranges = ranges_by({sample(-infinity, 1)});
  EXPECT_EQ(ranges.all.size(), 1u) << "the output is finite";
  EXPECT_EQ(ranges.y, (ValueRange{0, 1}));
}

}  // namespace value_ranges_test
}  // namespace whet
