// What barriers, waits, predicates and stages of schedules for a GPU are for: every program with one of them wrong is refused, found, or
// proves to be as good (program/testing/mutants.h).

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "lower/lower.h"
#include "lower/testing/random_gpu_schedule.h"
#include "lower/testing/warp_product.h"
#include "program/testing/mutants.h"
#include "space/gpu/attention.h"
#include "space/gpu/attention_mma.h"
#include "space/gpu/attention_stream.h"
#include "space/gpu/dots.h"
#include "space/gpu/mma.h"
#include "space/gpu/patch.h"
#include "space/gpu/product.h"
#include "space/gpu/winograd.h"
#include "space/testing/attention_texts.h"
#include "space/testing/byte_texts.h"
#include "space/testing/gpu_samples.h"
#include "space/testing/product_texts.h"

namespace whet {
namespace gpu_mutation_test {

const char* const kConvolution = R"(
x = PLACEHOLDER [1, 5, 5, 4]
w = PLACEHOLDER [3, 3, 4, 8] const
bias = PLACEHOLDER [8] const
pad(n, y, z, c) = select((y >= 1) && (y < 6) && (z >= 1) && (z < 6), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 7, z in 7, c in 4  # pad
conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 5, ow in 5, oc in 8, rh in 3, rw in 3, rc in 4  # conv
out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + bias[oc]), 0f) for n in 1, oh in 5, ow in 5, oc in 8
return out
)";
const char* const kBatched = R"(
a = PLACEHOLDER [2, 10, 8]
b = PLACEHOLDER [2, 8, 12]
c(n, i, j) += (a[n, i, r]*b[n, r, j]) for n in 2, i in 10, j in 12, r in 8
return c
)";

const char* const kRows = R"(
x = PLACEHOLDER [3, 44]
m(i) max= x[i, r] for i in 3, r in 44
e(i, j) = (x[i, j] - m[i]) for i in 3, j in 44
s(i) += (e[i, r]*e[i, r]) for i in 3, r in 44
y(i, j) = (e[i, j]/(s[i] + 1f)) for i in 3, j in 44
return y
)";

const char* const kFewChannels = R"(
x = PLACEHOLDER [1, 9, 9, 3]
w = PLACEHOLDER [3, 3, 3, 16] const
pad(n, y, z, c) = select((y >= 1) && (z >= 1), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 10, z in 10, c in 3  # pad n:batch y:row z:column c:channel
conv(n, oh, ow, oc) += (pad[n, (oh*2 + rh), (ow*2 + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 4, ow in 4, oc in 16, rh in 3, rw in 3, rc in 3  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
out(n, oh, ow, oc) = max(conv[n, oh, ow, oc], 0f) for n in 1, oh in 4, ow in 4, oc in 16
return out
)";

class Mutation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kSanitized) GTEST_SKIP() << "thousands of mutants; the interpreter has tests of its own there";
  }
  void judge_sketch(const std::string& text, std::optional<Sketch> (*make)(const ComputeDag&, const Target&),
                    const char* model = "a100") {
    const ComputeDag dag = *parse_dag(text);
    const std::optional<Sketch> sketch = make(dag, target_of(model));
    ASSERT_TRUE(sketch.has_value()) << text;
    const DesignSpace space(dag, {*sketch});
    judge(dag, *space.steps(space.default_candidate()), model);
    Rng rng(5);
    for (int k = 0; k < testing::random_cases(2); ++k) judge(dag, *space.steps(space.sample(rng)), model);
  }

  static Target target_of(const char* model) { return *parse_target(std::string("cuda -model=") + model); }

  void judge(const ComputeDag& dag, const Steps& steps, const char* model = "a100") {
    const Target target = target_of(model);
    const Result<Lowered> lowered = lower_until(*replay(dag, steps), target, "verify");
    if (!lowered.ok()) return;
    const testing::Census census =
        testing::judge_mutants(lowered->program, limits_of(target.gpu()), [&](std::uint64_t seed) {
          Rng rng(seed);
          return *testing::arguments_of(*lowered, dag, testing::random_inputs(dag, rng));
        });
    total_.refused += census.refused, total_.found += census.found, total_.harmless += census.harmless;
    for (const std::string& survivor : census.survivors)
      total_.survivors.push_back(survivor + "\n" + to_text(steps) + "\n" + to_text(lowered->program));
  }

  /// The default and samples of the sketch with `part` keys in a part.
  void judge_parts(const ComputeDag& dag, const std::optional<Sketch>& sketch, std::int64_t part, int samples) {
    ASSERT_TRUE(sketch.has_value());
    const DesignSpace space(dag, {*sketch});
    Rng rng(5);
    for (int k = 0, judged = 0; judged < testing::random_cases(samples); ++k) {
      ASSERT_LT(k, 300) << judged;
      Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
      c.choices["part"] = {part};
      if (!space.contains(c).ok()) continue;
      judge(dag, *space.steps(c));
      ++judged;
    }
  }

  void TearDown() override {
    if (IsSkipped()) return;
    printf("mutants: %lld refused, %lld found, %lld harmless, %zu survived\n", static_cast<long long>(total_.refused),
           static_cast<long long>(total_.found), static_cast<long long>(total_.harmless), total_.survivors.size());
    EXPECT_EQ(total_.survivors.size(), 0u) << total_.survivors.front();
    EXPECT_GT(total_.found, 0);
  }

  testing::Census total_;
};

TEST_F(Mutation, OfPipelinedTilesDoesNotSurvive) {
  for (const char* text : {kConvolution, kBatched}) {
    const ComputeDag dag = *parse_dag(text);
    const DesignSpace space = make_space(dag, *parse_target("cuda -model=a100"));
    judge(dag, *space.steps(space.default_candidate()));
    Rng rng(11);
    for (int k = 0; k < testing::random_cases(4); ++k) judge(dag, *space.steps(space.sample(rng)));
  }
}
TEST_F(Mutation, OfCopiesThatAreHeldDuringTheWorkDoesNotSurvive) {
  for (const char* text : {kConvolution, kBatched}) {
    const ComputeDag dag = *parse_dag(text);
    const DesignSpace space(dag, {product_sketch(dag, target_of("t4")).value()});
    Rng rng(11);
    for (int k = 0, judged = 0; judged < testing::random_cases(3); ++k) {
      ASSERT_LT(k, 300) << judged;
      const Candidate c = space.sample(rng);
      if (c.choices.at("stages")[0] == 1) continue;
      judge(dag, *space.steps(c), "t4");
      ++judged;
    }
  }
}
TEST_F(Mutation, OfSumsAcrossThreadsDoesNotSurvive) {
  // A row by 8 threads, two rows a block; a row by a block of two warps.
  for (const char* steps :
       {"inline o2; split l6 2 guard; split l7 8 guard; bind l8 block; bind l9 thread; bind l11 thread; compute_at o3 "
        "l9 registers; split l13 8 guard; rfactor l15; bind l15 thread; compute_at o1 l9 registers; split l17 8 guard; "
        "rfactor l19; bind l19 thread",
        "inline o2; bind l6 block; bind l7 thread; compute_at o3 l6 registers; rfactor l9; bind l9 thread; compute_at "
        "o1 l6 block; rfactor l11; bind l11 thread"})
    judge(*parse_dag(kRows), *parse_steps(steps));
}
TEST_F(Mutation, OfWindowsRowsTurnedTilesAndPartsOfSumsDoesNotSurvive) {
  const Target target = *parse_target("cuda -model=a100");
  const auto judge_samples = [&](const char* text, const Choices& choices, const char* sketch) {
    const ComputeDag dag = *parse_dag(text);
    const DesignSpace space = make_space(dag, target);
    const auto found = std::find_if(space.sketches().begin(), space.sketches().end(),
                                    [&](const Sketch& known) { return known.name == sketch; });
    ASSERT_NE(found, space.sketches().end()) << sketch;
    Candidate c{found->name, found->preferred};
    for (const auto& [name, choice] : choices) c.choices[name] = choice;
    const Result<Steps> steps = space.steps(c);
    ASSERT_TRUE(steps.ok()) << steps.error().message;
    judge(dag, *steps);
    Rng rng(5);
    for (int k = 0; k < testing::random_cases(2); ++k) judge(dag, *space.steps(space.sample(rng)));
  };
  judge_samples(kRows, {}, "rows");
  judge_samples("x = PLACEHOLDER [40, 36]\ny(i, j) = x[j, i] for i in 36, j in 40\nreturn y\n",
                {{"vector", {1}}, {"each", {1}}, {"threads", {256}}, {"across", {32}}}, "elements");
  judge_samples(R"(
x = PLACEHOLDER [1, 5, 5, 4]
w = PLACEHOLDER [3, 3, 4] const
pad(n, y, z, c) = select((y >= 1) && (y < 6) && (z >= 1) && (z < 6), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 7, z in 7, c in 4  # pad n:batch y:row z:column c:channel
dw(n, y, z, c) += (pad[n, (y + rh), (z + rw), c]*w[rh, rw, c]) for n in 1, y in 5, z in 5, c in 4, rh in 3, rw in 3  # depthwise n:batch y:row z:column c:channel rh:tap rw:tap
out(n, y, z, c) = max(dw[n, y, z, c], 0f) for n in 1, y in 5, z in 5, c in 4
return out
)",
                {}, "window");
  judge_samples(R"(
a = PLACEHOLDER [8, 128]
b = PLACEHOLDER [128, 8] const
c(i, j) += (a[i, r]*b[r, j]) for i in 8, j in 8, r in 128
out(i, j) = max(c[i, j], 0f) for i in 8, j in 8
return out
)",
                {{"split", {2}}, {"depth", {16}}}, "product");
}
TEST_F(Mutation, OfWinogradAttentionAndPatchesDoesNotSurvive) {
  judge_sketch(kConvolution, gpu_winograd_sketch);
  // A softmax is the same whatever is subtracted: the keys are whole vectors, so that no condition cuts the maximum.
  judge_sketch(testing::heads_text(1, 16, 16, 8), gpu_attention_sketch);
  judge_sketch(kFewChannels, patch_sketch);
}
TEST_F(Mutation, OfPartsOfKeysDoesNotSurvive) {
  const ComputeDag dag = *parse_dag(testing::heads_text(1, 16, 21, 8));
  judge_parts(dag, gpu_attention_sketch(dag, target_of("a100")), 16, 3);
}
TEST_F(Mutation, OfAttentionOnTensorCoresDoesNotSurvive) {
  for (const std::string& text : {testing::heads_text(1, 16, 21, 16), testing::masked_heads_text(16)}) {
    const ComputeDag dag = *parse_dag(text);
    for (const std::int64_t part : {0, 16})
      judge_parts(dag, attention_mma_sketch(dag, target_of("a100"), Precision::tf32), part, 1);
  }
}
/// A maximum that differs from lane to lane, or from step to step, cancels in the quotient: queries and keys are whole tiles, so that no
/// condition cuts it.
TEST_F(Mutation, OfOnlineSumsDoesNotSurvive) {
  const std::string halves = testing::half_heads_text(1, 16, 48, 16);
  for (const std::string& text : {halves, testing::with_bf16(halves)}) judge_sketch(text, half_attention_stream_sketch);
  const ComputeDag dag = *parse_dag(testing::heads_text(1, 16, 32, 16));
  const std::optional<Sketch> sketch = attention_stream_sketch(dag, target_of("a100"), Precision::tf32);
  ASSERT_TRUE(sketch.has_value());
  const DesignSpace space(dag, {*sketch});
  judge(dag, *space.steps(space.default_candidate()));
}
TEST_F(Mutation, OfProductsOfBytesDoesNotSurvive) {
  judge_sketch(testing::byte_dense_text(16, 64, 16), dots_sketch);
  judge_sketch(testing::byte_dense_text(16, 64, 16), mma_bytes_sketch);
  judge_sketch(testing::byte_dense_text(16, 64, 16), mma_bytes_sketch, "t4");
}
TEST_F(Mutation, OfProductsOfHalvesDoesNotSurvive) {
  judge_sketch(testing::half_dense_text(16, 64, 32), mma_half_sketch);
  judge_sketch(testing::with_bf16(testing::half_dense_text(16, 64, 32)), mma_half_sketch);
  judge_sketch(testing::scaled_halves_text(4, 64, 32, 1), mma_half_sketch);
}
TEST_F(Mutation, OfTilesOfWarpsDoesNotSurvive) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(4)); ++seed) {
    Rng rng(seed);
    const testing::RandomWarpProduct random = testing::random_warp_product(rng);
    judge(random.dag, random.steps);
  }
}
TEST_F(Mutation, OfDefaultSchedulesDoesNotSurvive) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(40)); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    judge(dag, *default_steps(dag, *parse_target("cuda -model=a100")));
  }
}
TEST_F(Mutation, OfRandomSchedulesDoesNotSurvive) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(120)); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    judge(dag, testing::random_gpu_steps(dag, rng));
  }
}

}  // namespace gpu_mutation_test
}  // namespace whet
