#include "space/cpu/attention.h"

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "passes/optimize.h"
#include "passes/testing/random_attention.h"
#include "schedule/loop_tree.h"
#include "task/task.h"

namespace whet {
namespace {

Target avx512() { return *parse_target("cpu -mcpu=skylake-avx512 -threads=2"); }

/// The attentions of a graph, as tasks.
std::vector<ComputeDag> attentions_of(const Graph& graph, const PassOptions& options = {}) {
  const auto fused = optimize(graph, options);
  EXPECT_TRUE(fused.ok());
  const auto tasks = extract_tasks(*fused, avx512());
  EXPECT_TRUE(tasks.ok());
  std::vector<ComputeDag> dags;
  for (const Task& task : *tasks)
    if (task.name.starts_with("attention")) dags.push_back(task.dag);
  return dags;
}

/// What fusion puts together without a schedule for it would run on naive loops.
TEST(AttentionSketch, FitsEveryAttentionThatFusionFinds) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(60)); ++seed) {
    const Graph graph = testing::random_attention(seed);
    for (const Graph& of : {graph, testing::in_halves(graph), testing::with_rounded_outputs(graph),
                            testing::with_rounded_operands(graph)}) {
      const std::vector<ComputeDag> dags = attentions_of(of);
      ASSERT_EQ(dags.size(), 1u) << "seed " << seed;
      for (const char* text : {"cpu -mcpu=skylake-avx512 -threads=2", "cpu -mcpu=haswell -threads=3"})
        EXPECT_TRUE(attention_sketch(dags[0], *parse_target(text)).has_value()) << "seed " << seed << "\n"
                                                                                << to_text(dags[0]);
    }
    const std::vector<ComputeDag> of_bf16 = attentions_of(graph, {.bf16 = true});
    ASSERT_EQ(of_bf16.size(), 1u) << "seed " << seed;
    EXPECT_TRUE(attention_sketch(of_bf16[0], avx512()).has_value()) << to_text(of_bf16[0]);
  }
}

TEST(AttentionSketch, HoldsOnlySchedules) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(40)); ++seed) {
    const Graph graph = testing::random_attention(seed);
    const ComputeDag dag = attentions_of(seed % 3 == 0 ? testing::in_halves(graph) : graph).front();
    const DesignSpace space(dag, {*attention_sketch(dag, avx512())});
    Rng rng(seed);
    Candidate at = space.default_candidate();
    for (int i = 0; i < 12; ++i) {
      at = i % 2 == 0 ? space.sample(rng) : space.mutate(at, rng).value_or(at);
      const Result<Steps> steps = space.steps(at);
      ASSERT_TRUE(steps.ok()) << to_json(at) << ": " << steps.error().message << "\n" << to_text(dag);
    }
  }
}

/// 48 queries and keys of 32 dimensions in 4 heads, masked.
const char* const kMasked = R"(
q = PLACEHOLDER [4, 48, 32]
k = PLACEHOLDER [48, 4, 32]
v = PLACEHOLDER [48, 4, 32]
mask = PLACEHOLDER [48]
kt(h, c, j) = k[j, h, c] for h in 4, c in 32, j in 48  # injective
vt(h, j, c) = v[j, h, c] for h in 4, j in 48, c in 32  # injective
s(h, i, j) += (q[h, i, c]*kt[h, c, j]) for h in 4, i in 48, j in 48, c in 32  # matmul h:batch i:row j:out_channel c:in_channel
t(h, i, j) = (s[h, i, j] + mask[j]) for h in 4, i in 48, j in 48  # elementwise
m(h, i) max= t[h, i, j] for h in 4, i in 48, j in 48  # softmax
e(h, i, j) = exp((t[h, i, j] - m[h, i])) for h in 4, i in 48, j in 48  # softmax
z(h, i) += e[h, i, j] for h in 4, i in 48, j in 48  # softmax
p(h, i, j) = (e[h, i, j]*(1f/z[h, i])) for h in 4, i in 48, j in 48  # softmax
y(h, i, c) += (p[h, i, j]*vt[h, j, c]) for h in 4, i in 48, c in 32, j in 48  # matmul h:batch i:row c:out_channel j:in_channel
out(i, h, c) = y[h, i, c] for i in 48, h in 4, c in 32  # injective
return out
)";

TEST(AttentionSketch, KeepsABlockOfScoresBetweenItsProducts) {
  const ComputeDag dag = *parse_dag(kMasked);
  const DesignSpace space(dag, {*attention_sketch(dag, avx512())});
  Candidate c = space.default_candidate();
  c.choices["heads"] = {1}, c.choices["rows"] = {12}, c.choices["row1"] = {6}, c.choices["keys"] = {48};
  c.choices["row2"] = {12}, c.choices["width"] = {32}, c.choices["vectors"] = {4}, c.choices["values"] = {0},
  c.choices["together"] = {2};
  const auto scheduled = space.schedule(c);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  EXPECT_EQ(to_text(scheduled->tree), R"(parallel h in 4
  for h in 1
    for c.0 in 2
      for j.0 in 3
        for c.1 in 16  # tensorize transpose16
          for j.1 in 16
            kt
  for i.0 in 4
    for h in 1
      for j.0 in 1
        for i.0 in 2
          s @registers
          for h in 1
            for c in 32
              unroll i in 6
                vector j in 48
                  s
          unroll i.1 in 6
            vector j.1 in 48
              t
    for h in 1
      for i.0 in 6
        unroll i.1 in 2
          vector j in 48  # rfactor
            m
    for h in 1
      for i.0 in 6
        unroll i.1 in 2
          vector j in 48
            e
    for h in 1
      for i.0 in 6
        unroll i.1 in 2
          vector j in 48  # rfactor
            z
    for h in 1
      for i.0 in 6
        unroll i.1 in 2
          vector j in 48
            p
    for c.0 in 1
      for i.1 in 1
        y @registers
        for h in 1
          for j in 48
            unroll i in 12
              vector c in 32
                y
        unroll i.2 in 12
          vector c.1 in 32
            out
)");
}

TEST(AttentionSketch, IsForNothingElse) {
  const ComputeDag product = *parse_dag(
      "x = PLACEHOLDER [32, 64]\nw = PLACEHOLDER [64, 48]\ny(i, j) += (x[i, k]*w[k, j]) for i in 32, j in 48, k in 64  "
      "# "
      "matmul i:row j:out_channel k:in_channel\nreturn y\n");
  EXPECT_FALSE(attention_sketch(product, avx512()).has_value());
}

/// Heads of 32 dimensions, whose queries, keys and values are stored as bf16.
const char* const kOfBf16 = R"(
q = PLACEHOLDER [48, 4, 32] bf16
k = PLACEHOLDER [40, 4, 32] bf16
v = PLACEHOLDER [40, 4, 32] bf16
qt(h, i, c): bf16 = q[i, h, c] for h in 4, i in 48, c in 32  # injective
kt(h, c, j): bf16 = k[j, h, c] for h in 4, c in 32, j in 40  # injective
vt(h, j, c): bf16 = v[j, h, c] for h in 4, j in 40, c in 32  # injective
qw(h, i, c) = f32(qt[h, i, c]) for h in 4, i in 48, c in 32  # elementwise
kw(h, c, j) = f32(kt[h, c, j]) for h in 4, c in 32, j in 40  # elementwise
vw(h, j, c) = f32(vt[h, j, c]) for h in 4, j in 40, c in 32  # elementwise
s(h, i, j) += (qw[h, i, c]*kw[h, c, j]) for h in 4, i in 48, j in 40, c in 32  # matmul h:batch i:row j:out_channel c:in_channel
t(h, i, j) = (s[h, i, j]*0.25f) for h in 4, i in 48, j in 40  # elementwise
m(h, i) max= t[h, i, j] for h in 4, i in 48, j in 40  # softmax
e(h, i, j) = exp((t[h, i, j] - m[h, i])) for h in 4, i in 48, j in 40  # softmax
z(h, i) += e[h, i, j] for h in 4, i in 48, j in 40  # softmax
p(h, i, j) = (e[h, i, j]*(1f/z[h, i])) for h in 4, i in 48, j in 40  # softmax
y(h, i, c) += (p[h, i, j]*vw[h, j, c]) for h in 4, i in 48, c in 32, j in 40  # matmul h:batch i:row c:out_channel j:in_channel
out(i, h, c) = y[h, i, c] for i in 48, h in 4, c in 32  # injective
return out
)";

TEST(AttentionSketch, MultipliesPairsOfWhatIsWidened) {
  const ComputeDag dag = *parse_dag(kOfBf16);
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=2");
  const std::optional<Sketch> sketch = attention_pairs_sketch(dag, znver4);
  ASSERT_TRUE(sketch);
  EXPECT_EQ(sketch->name, "attention+pairs");
  EXPECT_TRUE(is_within(*sketch, sketch->preferred));
  const DesignSpace space(dag, {*sketch});
  Rng rng(3);
  for (int i = 0; i < 20; ++i) {
    const Candidate candidate = i == 0 ? space.default_candidate() : space.sample(rng);
    const Result<Steps> steps = space.steps(candidate);
    ASSERT_TRUE(steps.ok()) << to_json(candidate) << ": " << steps.error().message;
    const std::string text = to_text(*steps);
    EXPECT_TRUE(text.starts_with("unfold o7 o9 pairs; ")) << text;
    EXPECT_NE(text.find(" dot2"), std::string::npos) << text;
    EXPECT_NE(text.find(" transpose16_pairs"), std::string::npos) << text;
    EXPECT_TRUE(numerics_of(text).exact) << text;
  }
  EXPECT_FALSE(attention_pairs_sketch(dag, avx512())) << "no products of bf16";
  EXPECT_FALSE(attention_pairs_sketch(*parse_dag(kMasked), znver4)) << "of f32";
  EXPECT_TRUE(attention_sketch(dag, znver4)) << "widened as well";
}

}  // namespace
}  // namespace whet
