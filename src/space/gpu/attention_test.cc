#include "space/gpu/attention.h"

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "cost/gpu/nest.h"
#include "passes/optimize.h"
#include "passes/testing/random_attention.h"
#include "space/attention_form.h"
#include "space/testing/attention_texts.h"
#include "space/testing/gpu_samples.h"
#include "task/task.h"

namespace whet {
namespace gpu_attention_test {

using testing::heads_text;
using testing::masked_heads_text;

const std::string kMasked = masked_heads_text(8);
const std::string kPlain = heads_text(2, 17, 32, 16);

TEST(GpuAttention, ComputesMaskedHeadsOfTokens) { testing::expect_right(kMasked, gpu_attention_sketch, 8); }
TEST(GpuAttention, ComputesPlainHeads) { testing::expect_right(kPlain, gpu_attention_sketch, 8); }
TEST(GpuAttention, OfAllKeysIsOneLaunch) {
  for (const std::string& text : {kMasked, kPlain}) {
    const ComputeDag task = *parse_dag(text);
    const Target target = *parse_target("cuda -model=h100");
    const DesignSpace space = make_space(task, target);
    Candidate all = space.default_candidate();
    ASSERT_EQ(all.sketch, "attention");
    all.choices["part"] = {0};
    EXPECT_EQ(gpu_launches(space.schedule(all)->tree).size(), 1u);
  }
}
/// A warp that copies keys touches few lines, whichever of their axes lies along memory.
TEST(GpuAttention, CopiesKeysAlongMemory) {
  for (const std::string& text : {kMasked, kPlain}) {
    const ComputeDag task = *parse_dag(text);
    const DesignSpace space = make_space(task, *parse_target("cuda -model=h100"));
    Candidate c = space.default_candidate();
    c.choices["part"] = {0}, c.choices["keys"] = {1};
    const Result<Scheduled> made = space.schedule(c);
    ASSERT_TRUE(made.ok());
    const OpId k(1);
    int reads = 0;
    const std::vector<LaunchWork> launches = gpu_launches(made->tree);
    for (const OpWork& op : launches.front().nests)
      for (const LaunchAccess& access : op.accesses) {
        if (access.memory != LaunchAccess::Memory::global || access.tensor != k) continue;
        ++reads;
        EXPECT_LE(access.passes, 4) << text;
      }
    EXPECT_EQ(reads, 1) << text;
  }
}
/// However few threads copy however many keys, of whichever order.
TEST(GpuAttention, HasAScheduleOfEachCandidateOfManyKeys) {
  for (const char* keys : {"k[j, h, c]", "k[h, c, j]"}) {
    const std::string text = std::string("q = PLACEHOLDER [2, 40, 128]\nk = PLACEHOLDER ") +
                             (keys[2] == 'j' ? "[197, 2, 128]" : "[2, 128, 197]") +
                             "\nv = PLACEHOLDER [2, 197, 128]\nkt(h, c, j) = " + keys +
                             R"( for h in 2, c in 128, j in 197  # injective
s(h, i, j) += (q[h, i, c]*kt[h, c, j]) for h in 2, i in 40, j in 197, c in 128  # matmul h:batch i:row j:out_channel c:in_channel
m(h, i) max= s[h, i, j] for h in 2, i in 40, j in 197  # softmax
e(h, i, j) = exp((s[h, i, j] - m[h, i])) for h in 2, i in 40, j in 197  # softmax
z(h, i) += e[h, i, j] for h in 2, i in 40, j in 197  # softmax
p(h, i, j) = (e[h, i, j]/z[h, i]) for h in 2, i in 40, j in 197  # softmax
y(h, i, c) += (p[h, i, j]*v[h, j, c]) for h in 2, i in 40, c in 128, j in 197  # matmul h:batch i:row c:out_channel j:in_channel
return y
)";
    const Result<ComputeDag> task = parse_dag(text);
    ASSERT_TRUE(task.ok()) << task.error().message;
    const Target target = *parse_target("cuda -model=h100");
    const DesignSpace space(*task, {gpu_attention_sketch(*task, target).value()});
    Rng rng(7);
    int made = 0;
    for (int k = 0; k < 400 && made < 40; ++k) {
      Candidate c = space.sample(rng);
      c.choices["keys"] = {1};
      if (!space.contains(c).ok()) continue;
      const Result<Scheduled> schedule = space.schedule(c);
      EXPECT_TRUE(schedule.ok()) << schedule.error().message;
      ++made;
    }
    EXPECT_EQ(made, 40) << keys;
  }
}
/// Candidates with each size of a part, right on three GPUs; the parts that were tried.
std::vector<std::int64_t> expect_right_in_parts(const std::string& text, int samples) {
  const ComputeDag task = *parse_dag(text);
  std::vector<std::int64_t> tried;
  for (const char* arch : testing::sampled_gpus()) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const DesignSpace space(task, {gpu_attention_sketch(task, target).value()});
    const Decision& parts = space.sketches().front().decisions.back();
    EXPECT_EQ(parts.name, "part");
    Rng rng(7);
    tried.clear();
    for (const Choice& part : parts.options) {
      if (part[0] == 0) continue;
      for (int k = 0, right = 0; k < 400 && right < testing::random_cases(samples); ++k) {
        Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
        c.choices["part"] = part;
        c.choices["depth"] = {std::min<std::int64_t>(c.choices["depth"][0], part[0])};
        if (!space.contains(c).ok()) continue;
        const Result<Scheduled> scheduled = space.schedule(c);
        if (!scheduled.ok()) {
          ADD_FAILURE() << to_json(c) << ": " << scheduled.error().message;
          return {};
        }
        EXPECT_EQ(gpu_launches(scheduled->tree).size(), 2u);
        const Result<double> error = testing::error_of(task, scheduled->tree, target);
        if (!error.ok() || *error > 1e-5) {
          ADD_FAILURE() << to_json(c) << ": " << (error.ok() ? std::to_string(*error) : error.error().message) << "\n"
                        << to_text(scheduled->tree);
          return {};
        }
        ++right;
      }
      tried.push_back(part[0]);
    }
  }
  return tried;
}
TEST(GpuAttention, ComputesKeysInPartsThatASecondLaunchAddsUp) {
  EXPECT_EQ(expect_right_in_parts(kMasked, 6), std::vector<std::int64_t>({16}));
  EXPECT_EQ(expect_right_in_parts(kPlain, 6), std::vector<std::int64_t>({16}));
}
TEST(GpuAttention, ComputesPartsOfKeysThatNothingDivides) {
  EXPECT_EQ(expect_right_in_parts(heads_text(1, 9, 61, 6), 3), std::vector<std::int64_t>({16, 24, 32}));
}
TEST(GpuAttention, ComputesKeysOfWhichNoBlockHoldsAllScores) {
  const ComputeDag task = *parse_dag(heads_text(1, 64, 8192, 64));
  for (const char* arch : testing::sampled_gpus()) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const std::optional<Sketch> sketch = gpu_attention_sketch(task, target);
    ASSERT_TRUE(sketch.has_value()) << arch;
    EXPECT_GT(sketch->preferred.at("part")[0], 0);
    const DesignSpace space(task, {*sketch});
    const Result<Lowered> lowered =
        lower(space.schedule(space.default_candidate())->tree, target, {}, testing::verify_gpu_passes(target));
    EXPECT_TRUE(lowered.ok()) << lowered.error().message;
  }
}
TEST(GpuAttention, FitsEveryAttentionThatFusionFinds) {
  const Target target = *parse_target("cuda -model=h100");
  int right = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(30)); ++seed) {
    const Graph graph = testing::random_attention(seed);
    const Graph of[] = {graph, testing::in_halves(graph), testing::with_rounded_outputs(graph),
                        testing::with_rounded_operands(graph)};
    const Result<FusedGraph> fused = optimize(of[seed % 4], {});
    ASSERT_TRUE(fused.ok());
    const Result<std::vector<Task>> tasks = extract_tasks(*fused, target);
    ASSERT_TRUE(tasks.ok());
    for (const Task& task : *tasks) {
      if (!task.name.starts_with("attention")) continue;
      const std::optional<Sketch> sketch = gpu_attention_sketch(task.dag, target);
      ASSERT_TRUE(sketch.has_value()) << "seed " << seed << "\n" << to_text(task.dag);
      EXPECT_EQ(sketch->decisions.back().options.size() > 1, find_attention(task.dag)->keys_count > 16) << "no parts";
      if (seed >= 4) continue;
      testing::expect_right(task.dag, DesignSpace(task.dag, {*sketch}), target, "attention", 1);
      ++right;
    }
  }
  EXPECT_EQ(right, 4);
}

}  // namespace gpu_attention_test
}  // namespace whet
