#include "tuner/value_ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "compiler/scratch.h"
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
  Ranges found{measure_ranges(fused, calibration, held_out, interpreted, {}).value().value().values, {}, {}};
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
  EXPECT_NEAR(kRoomBeyondRange * ranges.x.most, 2 * 3, 1e-9) << "twice the largest of so few at the most";
  EXPECT_NEAR(ranges.y.most, ranges.x.most, 1e-9);
  EXPECT_EQ(ranges.x.least, -1) << "all reach as far below zero";
  EXPECT_EQ(ranges.y.least, 0);
}

TEST(RangesOnSamples, GoAsFarAsGumbelsLawHasItWhereSamplesAreNotFew) {
  SampleInputs samples;
  for (int i = 0; i < 8; ++i) samples.push_back(sample(-1, 1 + 0.25 * i));
  // The mean 1.875, and the deviation 0.6124.
  EXPECT_NEAR(kRoomBeyondRange * ranges_by(samples).x.most, 1.875 + 0.6124 * 6.7312, 1e-3);
  EXPECT_NEAR(kRoomBeyondRange * ranges_by({sample(-1, 1), sample(-1, 3)}).x.most, 6, 1e-9);
}

TEST(RangesOnSamples, EndWhereSeveralSamplesHaveTheSameLargestNumber) {
  SampleInputs clipped(12, sample(-1, 6));
  for (const double less : {2, 3, 4, 5}) clipped.push_back(sample(-1, less));
  EXPECT_EQ(ranges_by(clipped).x.most, 6) << "the others say nothing about a limit";
}

TEST(RangesOnSamples, EndWhereAnOperatorsResultsDo) {
  testing::GraphBuilder b;
  const ValueId x = b.input("x", {1, 2});
  const ValueId y = b.add("y", UnaryOperator{UnaryKind::sigmoid}, {x});
  const FusedGraph fused = optimize(b.finish({y}), {}).value();
  const std::string name = fused.graph.value(fused.graph.outputs.front()).name;
  const SampleInputs samples = {sample(-1, 1), sample(-1, 2), sample(-1, 3)};
  const ValueRanges found = measure_ranges(fused, samples, {}, interpreted, {}).value().value().values;
  EXPECT_EQ(found.at(name).most, 1);
  EXPECT_GT(found.at("x").most, 3);
}

TEST(RangesOnSamples, AreOfWhatRanWhereTimeEndsAmongTheHeldOut) {
  testing::GraphBuilder b;
  const FusedGraph fused = optimize(b.finish({b.relu("y", b.input("x", {1, 2}))}), {}).value();
  const SampleInputs calibration = {sample(-1, 1), sample(-1, 1)}, held_out = {sample(-1, 4), sample(-1, 4)};
  double seconds = 0;
  const OpenNetwork slow = [&](const FusedGraph& shown) -> Result<RunNetwork> {
    WHET_TRY(RunNetwork run, interpreted(shown));
    return RunNetwork([&seconds, run](const std::vector<Tensor>& inputs) { return ++seconds, run(inputs); });
  };
  LayerErrorOptions options;
  options.clock = [&] { return seconds; };
  options.deadline = 2.5;
  const auto in_part = measure_ranges(fused, calibration, held_out, slow, options).value();
  ASSERT_TRUE(in_part.has_value()) << "those that calibrate have run";
  EXPECT_FALSE(in_part->is_whole);
  EXPECT_TRUE(in_part->values.contains("x"));
  seconds = 0, options.deadline = 0.5;
  EXPECT_FALSE(measure_ranges(fused, calibration, held_out, slow, options).value().has_value());
  seconds = 0, options.deadline = 10;
  EXPECT_TRUE(measure_ranges(fused, calibration, held_out, slow, options).value()->is_whole);
}

TEST(RangesOnSamples, AreKeptInTheFileOnlyWhereTheyAreOfAllSamples) {
  testing::GraphBuilder b;
  const FusedGraph fused = optimize(b.finish({b.relu("y", b.input("x", {1, 2}))}), {}).value();
  const ScratchDirectory scratch = ScratchDirectory::make().value();
  RecordFile file = RecordFile::open(scratch.path() + "/r.jsonl").value();
  double seconds = 0;
  LayerErrorOptions options;
  options.graph = "1f", options.weights = "2e", options.samples = "3d", options.target = "cpu";
  options.clock = [&] { return seconds++; };
  options.deadline = 3;  // asked before the network is opened and before each sample
  const SampleInputs one = {sample(-1, 1)};
  ASSERT_TRUE(ranges_on_samples(fused, one, one, interpreted, file, options).value().has_value());
  EXPECT_TRUE(file.records().all_ranges_on_samples().empty());
  options.deadline = 100;
  ASSERT_TRUE(ranges_on_samples(fused, one, one, interpreted, file, options).value().has_value());
  ASSERT_EQ(file.records().all_ranges_on_samples().size(), 1u);
  EXPECT_EQ(file.records().all_ranges_on_samples().front().rule, kRangesRule);
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
