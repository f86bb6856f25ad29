// Schedules of tiles as code: the emitter's code for this machine computes the task, in three orders of threads, and NVIDIA's
// assembler takes the PTX for every architecture, where it is installed.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codegen/compile.h"
#include "codegen/testing/emulated.h"
#include "codegen/testing/ptxas.h"
#include "compute/round.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "program/warp_tile.h"
#include "space/space.h"
#include "space/testing/attention_texts.h"
#include "space/testing/product_texts.h"

namespace whet {
namespace {

/// ViT's 197 keys of one head, of 24 queries.
const std::string kHead = testing::heads_text(1, 24, 197, 64);
/// The projection behind a squeeze.
const char* const kScaled = R"(
s = PLACEHOLDER [1, 72]
x = PLACEHOLDER [1, 14, 14, 72]
w = PLACEHOLDER [72, 40] const
conv(n, y, z, c) += (x[n, y, z, r]*(s[n, r]*w[r, c])) for n in 1, y in 14, z in 14, c in 40, r in 72
out(n, y, z, c) = max(conv[n, y, z, c], 0f) for n in 1, y in 14, z in 14, c in 40
return out
)";
/// More blocks than run at once: rows of tiles, which groups of 4 do not divide, and columns.
const char* const kManyBlocks = R"(
a = PLACEHOLDER [296, 64]
b = PLACEHOLDER [64, 96] const
c(i, j) += (a[i, r]*b[r, j]) for i in 296, j in 96, r in 64
return c
)";

constexpr int kArchs[] = {75, 80, 86, 89, 90};
/// The emitter knows no difference between 80, 86 and 89.
bool is_emulated(int arch) { return arch == 75 || arch == 80 || arch == 90; }

/// Candidates of the sketch with `choices`, as many as are asked for; `raster` is only worth it for operands that are too large for
/// a test.
std::vector<LoopTree> candidates(const ComputeDag& dag, const Target& target, const std::string& name,
                                 const Choices& choices, const Choice& raster, Precision precision, int count) {
  const DesignSpace space = make_space(dag, target, {.precision = precision});
  const auto sketch = std::find_if(space.sketches().begin(), space.sketches().end(),
                                   [&](const Sketch& known) { return known.name == name; });
  EXPECT_NE(sketch, space.sketches().end()) << name;
  std::vector<LoopTree> trees;
  Rng rng(3);
  for (int k = 0; k < 4000 && std::ssize(trees) < count; ++k) {
    Candidate c = space.sample(rng);
    if (c.sketch != name) continue;
    for (const auto& [decision, choice] : choices) c.choices[decision] = choice;
    if (!space.contains(c).ok()) continue;
    if (!raster.empty()) c.choices["raster"] = raster;
    Scheduler scheduler(dag);
    sketch->build(scheduler, c.choices);
    EXPECT_TRUE(scheduler.finish().ok()) << to_json(c) << ": " << scheduler.finish().error().message;
    trees.push_back(scheduler.tree());
  }
  EXPECT_EQ(std::ssize(trees), count) << name;
  return trees;
}

/// Sums that warps compute by tensor cores; where a tile's form is another, its loops would run as they are.
std::size_t sums_on_tensor_cores(const Program& program) {
  std::set<std::int64_t> sums;
  for_each(
      program.body,
      [&](const Stmt& s) {
        const Loop* loop = std::get_if<Loop>(&s->kind);
        if (const std::optional<WarpTile> tile = loop ? warp_tile(*loop) : std::nullopt)
          sums.insert(tile->store->buffer.value);
      },
      nullptr);
  return sums.size();
}

void expect_code(const std::string& text, const std::string& sketch, const Choices& choices, const Choice& raster = {},
                 Precision precision = Precision::f32) {
  const ComputeDag dag = *parse_dag(text);
  Rng rng(5);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  for (const int arch : kArchs) {
    const Target target = *parse_target("cuda -arch=sm_" + std::to_string(arch));
    const bool halves = sketch == "attention_half" || sketch == "attention_stream_half";
    if ((precision != Precision::f32 || halves) && !limits_of(target.gpu()).mma) continue;
    for (const LoopTree& tree : candidates(dag, target, sketch, choices, raster, precision, 2)) {
      SCOPED_TRACE("sm_" + std::to_string(arch) + "\n" + to_text(tree));
      const Result<Lowered> lowered = lower(tree, target);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const std::vector<Tensor> arguments = *testing::arguments_of(*lowered, dag, inputs);
      for (const EmulatedOrder order : {EmulatedOrder::forward, EmulatedOrder::backward, EmulatedOrder::shuffled}) {
        if (!is_emulated(arch)) break;
        const auto got = run_emulated(lowered->program, target, arguments, {.order = order, .seed = 5, .workers = 2});
        ASSERT_TRUE(got.ok()) << got.error().message;
        const double of_halves = multiplies_halves(dag, DType::bf16) ? 3e-2 : 4e-3;
        const double most = halves ? of_halves : 1e-5 + tolerance_of(precision);
        EXPECT_LT(*testing::worst_output(*lowered, dag, inputs, *got), most);
      }
      if (sketch.starts_with("attention_")) {
        EXPECT_EQ(sums_on_tensor_cores(lowered->program), 2u);
      }
      const Result<Kernel> kernel = compile_kernel(lowered->program, target);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ(kernel->code.find(".local"), std::string::npos) << "memory of a thread that is not registers";
      if (installed_ptxas().path.empty()) continue;
      const testing::Assembled assembled = testing::assemble(kernel->code, arch);
      EXPECT_GT(assembled.registers, 0);
      EXPECT_EQ(assembled.remarks, "");
      if (sketch.starts_with("attention_stream")) {
        EXPECT_EQ(assembled.spills, 0);
      }
    }
  }
}

TEST(GpuTiles, OfKeysInPartsAreCode) {
  for (const std::int64_t part : {104, 32}) expect_code(kHead, "attention", {{"part", {part}}});
}
/// Keys whose elements are neighbours, and such that are columns.
TEST(GpuTiles, OfAttentionOnTensorCoresAreCode) {
  const std::string tokens = testing::masked_heads_text(16), columns = testing::heads_text(1, 24, 40, 32);
  expect_code(tokens, "attention_mma", {{"part", {0}}}, {}, Precision::tf32);
  expect_code(tokens, "attention_mma", {{"part", {16}}}, {}, Precision::f16);
  expect_code(columns, "attention_mma", {{"part", {0}}}, {}, Precision::bf16);
  const std::string halves = testing::half_heads_text(1, 24, 40, 32);
  for (const std::int64_t part : {0, 16}) expect_code(halves, "attention_half", {{"part", {part}}});
  expect_code(testing::with_bf16(halves), "attention_half", {{"part", {16}}});
}
/// Many steps of keys, the last of them cut; keys of both orders.
TEST(GpuTiles, OfAttentionInOnePassAreCode) {
  const std::string tokens = testing::masked_heads_text(16), columns = testing::heads_text(1, 24, 70, 32);
  expect_code(tokens, "attention_stream", {}, {}, Precision::f16);
  expect_code(columns, "attention_stream", {{"keys", {16}}}, {}, Precision::tf32);
  expect_code(columns, "attention_stream", {{"keys", {16}}}, {}, Precision::bf16);
  const std::string halves = testing::half_heads_text(1, 40, 128, 64);
  for (const std::string& text : {halves, testing::with_bf16(halves)})
    expect_code(text, "attention_stream_half", {{"keys", {64}}, {"stages", {2}}});
}
TEST(GpuTiles, OfProductsOfThreeAreCode) { expect_code(kScaled, "product", {{"stages", {3}}}); }
TEST(GpuTiles, WithAPartOfAStepUnrolledAreCode) {
  expect_code(kScaled, "product", {{"depth", {24}}, {"unroll", {8}}, {"stages", {2}}});
}
TEST(GpuTiles, OfRoundedOperandsAreCode) {
  for (const Precision precision : {Precision::tf32, Precision::f16})
    for (const std::int64_t round : {0, 1})
      expect_code(kManyBlocks, "mma", {{"round", {round}}, {"stages", {3}}}, {}, precision);
}
TEST(GpuTiles, ThatAreOrderedForL2AreCode) {
  for (const std::int64_t raster : {1, 4})
    expect_code(kManyBlocks, "product", {{"raster", {0}}, {"split", {1}}, {"stages", {2}}}, {raster});
}

}  // namespace
}  // namespace whet
