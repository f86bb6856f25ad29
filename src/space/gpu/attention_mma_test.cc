#include "space/gpu/attention_mma.h"

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "compute/round.h"
#include "cost/gpu/nest.h"
#include "passes/optimize.h"
#include "passes/testing/random_attention.h"
#include "schedule/precision.h"
#include "space/testing/attention_texts.h"
#include "space/testing/gpu_samples.h"
#include "task/task.h"

namespace whet {
namespace attention_mma_test {

using testing::heads_text;
using testing::masked_heads_text;

constexpr Precision kRounded[] = {Precision::tf32, Precision::f16, Precision::bf16};
Target sm_80() { return *parse_target("cuda -arch=sm_80"); }
/// What the task's own tensors are rounded to.
std::optional<Precision> halves_of(const ComputeDag& task) {
  if (multiplies_halves(task, DType::bf16)) return Precision::bf16;
  return multiplies_halves(task) ? std::optional(Precision::f16) : std::nullopt;
}

/// The default and samples of the sketch, with all keys and with parts of them, are right.
void expect_right(const ComputeDag& task, const Sketch& sketch, int samples) {
  const DesignSpace space(task, {sketch});
  Rng rng(3);
  for (const Choice& part : sketch.decisions.back().options) {
    int right = 0;
    for (int k = 0; k < 400 && right < testing::random_cases(samples); ++k) {
      Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
      c.choices["part"] = part;
      if (!space.contains(c).ok()) continue;
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      EXPECT_EQ(gpu_launches(scheduled->tree).size(), part[0] == 0 ? 1u : 2u);
      const Precision precision = numerics_of(scheduled->steps).precision;
      const Result<double> error = testing::error_of(task, scheduled->tree, sm_80());
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      ASSERT_LT(*error, tolerance_of(halves_of(task).value_or(precision))) << to_json(c) << "\n"
                                                                           << to_text(scheduled->tree);
      ++right;
    }
    EXPECT_EQ(right, testing::random_cases(samples)) << "parts of " << part[0];
  }
}

void expect_right(const std::string& text, int samples) {
  const ComputeDag task = *parse_dag(text);
  for (const Precision precision : kRounded) {
    const std::optional<Sketch> sketch = attention_mma_sketch(task, sm_80(), precision);
    ASSERT_TRUE(sketch.has_value()) << text;
    expect_right(task, *sketch, samples);
    if (testing::kSanitized) break;  // the others are the same code
  }
}

TEST(AttentionMma, ComputesMaskedHeadsOfTokens) { expect_right(masked_heads_text(16), 3); }
TEST(AttentionMma, ComputesPlainHeads) { expect_right(heads_text(2, 17, 32, 16), 3); }
TEST(AttentionMma, ComputesWhatTilesDoNotDivide) { expect_right(heads_text(1, 35, 61, 20), 2); }

/// What fusion finds in a network of halves, or in one whose products read f16 or bf16.
TEST(AttentionHalf, FitsEveryAttentionOfHalvesThatFusionFinds) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(30)); ++seed) {
    const Graph graph = testing::random_attention(seed);
    const Result<FusedGraph> fused = seed % 3 == 0   ? optimize(testing::in_halves(graph), {})
                                     : seed % 3 == 1 ? optimize(graph, {.halves = true})
                                                     : optimize(graph, {.bf16_tensors = true});
    ASSERT_TRUE(fused.ok());
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, sm_80());
    ASSERT_TRUE(tasks.ok());
    for (const Task& task : *tasks) {
      if (!task.name.starts_with("attention")) continue;
      EXPECT_FALSE(attention_mma_sketch(task.dag, sm_80(), Precision::f16).has_value());
      const std::optional<Sketch> sketch = attention_half_sketch(task.dag, sm_80());
      ASSERT_TRUE(sketch.has_value()) << "seed " << seed << "\n" << to_text(task.dag);
      if (seed >= 4) continue;
      expect_right(task.dag, *sketch, 1);
      ++right;
    }
  }
  EXPECT_EQ(right, 4);
}

}  // namespace attention_mma_test
}  // namespace whet
