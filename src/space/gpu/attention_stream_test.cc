#include "space/gpu/attention_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/random_cases.h"
#include "compute/round.h"
#include "cost/gpu/estimate.h"
#include "cost/gpu/nest.h"
#include "lower/lower.h"
#include "passes/optimize.h"
#include "passes/testing/random_attention.h"
#include "schedule/precision.h"
#include "space/testing/attention_texts.h"
#include "space/testing/gpu_samples.h"
#include "space/testing/product_texts.h"
#include "task/task.h"

namespace whet {
namespace attention_stream_test {

using testing::half_heads_text;
using testing::heads_text;
using testing::masked_heads_text;

constexpr Precision kRounded[] = {Precision::tf32, Precision::f16, Precision::bf16};
Target sm_80() { return *parse_target("cuda -arch=sm_80"); }
/// What the task's own tensors are rounded to.
std::optional<Precision> halves_of(const ComputeDag& task) {
  if (multiplies_halves(task, DType::bf16)) return Precision::bf16;
  return multiplies_halves(task) ? std::optional(Precision::f16) : std::nullopt;
}

/// The default and samples of the sketch are right, in one launch and without a workspace.
void expect_right(const ComputeDag& task, const Sketch& sketch, int samples) {
  const DesignSpace space(task, {sketch});
  Rng rng(3);
  for (int k = 0; k < testing::random_cases(samples); ++k) {
    const Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
    const Result<Scheduled> scheduled = space.schedule(c);
    ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
    EXPECT_EQ(gpu_launches(scheduled->tree).size(), 1u);
    const Precision precision = numerics_of(scheduled->steps).precision;
    const Result<double> error = testing::error_of(task, scheduled->tree, sm_80());
    ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
    ASSERT_LT(*error, tolerance_of(halves_of(task).value_or(precision))) << to_json(c) << "\n"
                                                                         << to_text(scheduled->tree);
    const Result<Lowered> lowered = lower(scheduled->tree, sm_80());
    ASSERT_TRUE(lowered.ok());
    for (const Buffer& buffer : lowered->program.buffers) EXPECT_NE(buffer.scope, Scope::workspace) << buffer.name;
  }
}

void expect_right(const std::string& text, int samples) {
  const ComputeDag task = *parse_dag(text);
  for (const Precision precision : kRounded) {
    const std::optional<Sketch> sketch = attention_stream_sketch(task, sm_80(), precision);
    ASSERT_TRUE(sketch.has_value()) << text;
    expect_right(task, *sketch, samples);
    if (testing::kSanitized) break;  // the others are the same code
  }
}

TEST(AttentionStream, ComputesMaskedHeadsOfTokens) { expect_right(masked_heads_text(16), 3); }
TEST(AttentionStream, ComputesPlainHeads) { expect_right(heads_text(2, 17, 32, 16), 3); }
TEST(AttentionStream, ComputesWhatTilesDoNotDivide) { expect_right(heads_text(1, 35, 61, 20), 2); }
TEST(AttentionStream, ComputesManyStepsOfKeys) {
  expect_right(heads_text(1, 16, 200, 16), 2);
  const ComputeDag halves = *parse_dag(half_heads_text(1, 40, 200, 16));
  expect_right(halves, half_attention_stream_sketch(halves, sm_80()).value(), 3);
}

TEST(AttentionStream, ComputesHeadsOfBf16) {
  const ComputeDag task = *parse_dag(testing::with_bf16(half_heads_text(1, 40, 96, 32)));
  EXPECT_FALSE(attention_stream_sketch(task, sm_80(), Precision::bf16).has_value());
  const DesignSpace space(task, {half_attention_stream_sketch(task, sm_80()).value()});
  const Result<Scheduled> scheduled = space.schedule(space.default_candidate());
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const Result<double> error = testing::error_of(task, scheduled->tree, sm_80());
  ASSERT_TRUE(error.ok()) << error.error().message << "\n" << to_text(scheduled->tree);
  EXPECT_LT(*error, 3e-2);
}

/// What fusion finds in a network of halves, or in one whose products read f16 or bf16.
TEST(AttentionStream, FitsEveryAttentionOfHalvesThatFusionFinds) {
  int right = 0;
  const auto cases = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(testing::random_cases(20)));
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const Graph graph = testing::random_attention(seed);
    const Result<FusedGraph> fused = seed % 3 == 0   ? optimize(testing::in_halves(graph), {})
                                     : seed % 3 == 1 ? optimize(graph, {.halves = true})
                                                     : optimize(graph, {.bf16_tensors = true});
    ASSERT_TRUE(fused.ok());
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, sm_80());
    ASSERT_TRUE(tasks.ok());
    for (const Task& task : *tasks) {
      if (!task.name.starts_with("attention")) continue;
      EXPECT_FALSE(attention_stream_sketch(task.dag, sm_80(), Precision::f16).has_value());
      const std::optional<Sketch> sketch = half_attention_stream_sketch(task.dag, sm_80());
      ASSERT_TRUE(sketch.has_value()) << "seed " << seed << "\n" << to_text(task.dag);
      if (seed >= 4) continue;
      expect_right(task.dag, *sketch, 1);
      ++right;
    }
  }
  EXPECT_EQ(right, 4);
}

/// 64 heads of 1,024 queries and keys: what the model of an H200 says, of which 247 us were the parts of keys.
TEST(AttentionStream, IsWhatTheEstimateTakesForLongRows) {
  const Target h100 = *parse_target("cuda -model=h100");
  for (const auto& [text, most] : {std::pair(half_heads_text(64, 1024, 1024, 64), 110e-6),
                                   std::pair(half_heads_text(128, 2048, 2048, 128), 1.0)}) {
    const ComputeDag task = *parse_dag(text);
    const DesignSpace space = make_space(task, h100);
    EXPECT_EQ(space.default_candidate().sketch, "attention_stream_half");
    const Result<Scheduled> scheduled = space.schedule(space.default_candidate());
    ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
    EXPECT_LE(gpu_seconds(scheduled->tree, h100), most) << to_json(space.default_candidate());
  }
}

}  // namespace attention_stream_test
}  // namespace whet
