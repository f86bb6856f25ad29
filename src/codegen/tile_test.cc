#include <gtest/gtest.h>

#include "codegen/testing/answers.h"
#include "schedule/steps.h"

namespace whet {
namespace tile_test {

constexpr const char* kTranspose = R"(
x = PLACEHOLDER [3, 40, 50]
y(n, i, j) = x[n, j, i] for n in 3, i in 50, j in 40
return y
)";
constexpr const char* kTransposeSteps16 =
    "split l1 16 overlap; split l2 16 overlap; reorder l3 l5 l4 l6; tensorize l4 transpose16; parallel l0";
constexpr const char* kTransposeSteps8 =
    "split l1 8 overlap; split l2 8 overlap; reorder l3 l5 l4 l6; tensorize l4 transpose8; parallel l0";

constexpr const char* kBytes = R"(
a = PLACEHOLDER [5, 24] u8
b = PLACEHOLDER [24, 40] i8 const
c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for i in 5, j in 40, r in 24
return c
)";
constexpr const char* kBytesSteps =
    "split l1 16 overlap; split l2 4 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 dot4";
constexpr const char* kBytesByEight =
    "split l1 8 overlap; split l2 4 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 dot4x8";

Lowered lowered(const char* text, const char* steps, const Target& target) {
  const Result<LoopTree> tree = replay(*parse_dag(text), *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message);
  return lower(*tree, target).value();
}

std::string code(const char* text, const char* steps, const char* mcpu) {
  const Target target = *parse_target(std::string("cpu -mcpu=") + mcpu);
  return disassemble(compile_kernel(lowered(text, steps, target).program, target).value(), target).value();
}

/// Whether an answer is wrong where bytes are mostly the largest and the least: instructions that saturate show.
bool is_wrong_of_bytes(const char* text, const std::string& steps, const Target& target) {
  const ComputeDag dag = *parse_dag(text);
  Rng rng(3);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    Tensor t(op.dtype, op.shape);
    const std::int64_t low = op.dtype == DType::u8 ? 0 : -128, high = low + 255;
    for (std::int64_t i = 0; i < t.size(); ++i)
      t.set_integer(i, rng.below(4) == 0 ? rng.between(low, high) : rng.below(3) == 0 ? low : high);
    inputs.push_back(std::move(t));
  }
  const Lowered made = lowered(text, steps.c_str(), target);
  std::vector<Tensor> arguments = *testing::arguments_of(made, dag, inputs);
  arguments = *run_native(made.program, target, arguments, target.threads);
  return *testing::worst_output(made, dag, inputs, arguments) != 0;
}

/// Those of this machine, and one of 32-byte vectors with VNNI where this machine runs its code.
std::vector<Target> targets_of_bytes() {
  std::vector<Target> targets = runnable_targets();
#if defined(__x86_64__)
  if (targets.size() > 2 && __builtin_cpu_supports("avxvnni")) targets.push_back(*parse_target("cpu -mcpu=alderlake"));
#endif
  return targets;
}

/// Those of this machine, and one with products of bf16 where this machine has them.
std::vector<Target> targets_of_pairs() {
  std::vector<Target> targets = runnable_targets();
  if (has_bf16_products()) targets.push_back(*parse_target("cpu -mcpu=cooperlake"));
  return targets;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(Tile, ComputesWhatItsLoopsDo) {
  for (const Target& target : runnable_targets())
    for (const auto& [text, steps] : {std::pair(kTranspose, kTransposeSteps16), std::pair(kTranspose, kTransposeSteps8),
                                      std::pair(kBytes, kBytesSteps)})
      EXPECT_EQ(*error_of(*parse_dag(text), lowered(text, steps, target), target, 7), 0) << target.cpu().mcpu << "\n"
                                                                                         << steps;
}

TEST(Tile, TurnsRowsInRegisters) {
  const std::string wide = code(kTranspose, kTransposeSteps16, "skylake-avx512");
  EXPECT_EQ(count(wide, "vunpck"), 32) << wide;
  EXPECT_EQ(count(wide, "vinsertf"), 48) << wide;
  EXPECT_EQ(count(wide, "[rsp"), 0) << wide;
  EXPECT_EQ(count(wide, "vgather"), 0) << wide;
  const std::string narrow = code(kTranspose, kTransposeSteps8, "haswell");
  EXPECT_EQ(count(narrow, "vunpck"), 16) << narrow;
  EXPECT_EQ(count(narrow, "vinsertf128"), 8) << narrow;
}

constexpr const char* kGroups = R"(
x = PLACEHOLDER [6, 32]
w = PLACEHOLDER [4, 32] const
y(i, c) += (x[i, ((floordiv(c, 4)*4) + r)]*w[r, c]) for i in 6, c in 32, r in 4
return y
)";
constexpr const char* kGroupsSteps = "split l1 16 guard; reorder l0 l3 l2 l4; cache_write o2 l3; vectorize l4";

TEST(Tile, PermutesWhatVectorsOverGroupsRead) {
  const std::string unrolled = std::string(kGroupsSteps) + "; unroll l2";
  // One element behind rows of 33, so that the vector of the last group would end beyond the tensor.
  std::string odd = kGroups;
  odd.replace(odd.find("[6, 32]"), 7, "[6, 33]").replace(odd.find("*4) + r"), 7, "*4) + (r + 1)");
  for (const Target& target : runnable_targets())
    for (const std::string& text : {std::string(kGroups), odd})
      for (const std::string& steps : {std::string(kGroupsSteps), unrolled})
        EXPECT_LT(*error_of(*parse_dag(text), lowered(text.c_str(), steps.c_str(), target), target, 7), 1e-6)
            << target.cpu().mcpu << "\n"
            << steps;
  for (const std::string& steps : {std::string(kGroupsSteps), unrolled})
    EXPECT_EQ(count(code(kGroups, steps.c_str(), "skylake-avx512"), "vgather"), 0) << steps;
}

TEST(Tile, TakesTheInstructionForProductsOfBytesWhereThereIsOne) {
  for (const Target& target : targets_of_bytes())
    for (const char* steps : {kBytesSteps, kBytesByEight})
      EXPECT_FALSE(is_wrong_of_bytes(kBytes, steps, target)) << target.cpu().mcpu << " " << steps;
  const std::string vnni = code(kBytes, kBytesSteps, "cascadelake");
  EXPECT_EQ(count(vnni, "vpdpbusd"), 1) << vnni;
  EXPECT_EQ(count(vnni, "[rsp"), 0) << vnni;
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "alderlake"), "vpdpbusd"), 2);
  // Pairs of i16 do not saturate.
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "skylake-avx512"), "vpmaddwd"), 2);
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "haswell"), "vpmaddwd"), 4);
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "neoverse-n2"), "usdot"), 4);
  // Of bytes with a sign alone: the weights are summed up too.
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "cortex-a76"), "sdot"), 8);
  EXPECT_EQ(count(code(kBytes, kBytesSteps, "cortex-a72"), "dot"), 0);
}

constexpr const char* kPairs = R"(
a = PLACEHOLDER [5, 24] bf16
b = PLACEHOLDER [24, 40] bf16 const
c(i, j) += (f32(a[i, r])*f32(b[r, j])) for i in 5, j in 40, r in 24
return c
)";
constexpr const char* kPairsSteps =
    "split l1 16 overlap; split l2 2 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 dot2";
constexpr const char* kPairsByEight =
    "split l1 8 overlap; split l2 2 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 dot2x8";

/// Products of bf16 are exact in f32, and sums of small whole numbers are so in any order.
TEST(Dot2, EqualsTheDefinitionUpToTheOrderOfPairs) {
  const ComputeDag dag = *parse_dag(kPairs);
  const auto expect_equal = [&](const Target& target, const char* steps) {
    const Lowered made = lowered(kPairs, steps, target);
    EXPECT_LT(*error_of(dag, made, target, 7), 1e-6) << target.cpu().mcpu;
    Rng rng(5);
    std::vector<Tensor> inputs = {Tensor(DType::bf16, {5, 24}), Tensor(DType::bf16, {24, 40})};
    for (Tensor& tensor : inputs)
      for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(rng.between(-200, 200)));
    std::vector<Tensor> arguments = *testing::arguments_of(made, dag, inputs);
    arguments = *run_native(made.program, target, arguments, target.threads);
    EXPECT_EQ(*testing::worst_output(made, dag, inputs, arguments), 0) << target.cpu().mcpu << " " << steps;
  };
  for (const Target& target : targets_of_pairs())
    for (const char* steps : {kPairsSteps, kPairsByEight}) expect_equal(target, steps);
}

constexpr const char* kShorts = R"(
a = PLACEHOLDER [5, 24] i16
b = PLACEHOLDER [24, 40] i16 const
c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for i in 5, j in 40, r in 24
return c
)";
constexpr const char* kShortsSteps =
    "split l1 16 overlap; split l2 2 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 "
    "dot2_i16";
constexpr const char* kShortsByEight =
    "split l1 8 overlap; split l2 2 guard; reorder l0 l3 l5 l4 l6; pack o1 o2; cache_write o2 l3; tensorize l4 "
    "dot2_i16x8";

/// Of the largest and the least numbers, whose sums wrap.
TEST(Dot2OfI16, IsExactOnEveryProcessor) {
  const ComputeDag dag = *parse_dag(kShorts);
  const auto expect_exact = [&](const Target& target, const char* steps) {
    const Lowered made = lowered(kShorts, steps, target);
    Rng rng(5);
    std::vector<Tensor> inputs = {Tensor(DType::i16, {5, 24}), Tensor(DType::i16, {24, 40})};
    for (Tensor& tensor : inputs)
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        tensor.set_integer(i, rng.below(3) == 0 ? rng.between(-32768, 32767) : rng.below(2) == 0 ? -32768 : 32767);
    std::vector<Tensor> arguments = *testing::arguments_of(made, dag, inputs);
    arguments = *run_native(made.program, target, arguments, target.threads);
    EXPECT_EQ(*testing::worst_output(made, dag, inputs, arguments), 0) << target.cpu().mcpu << " " << steps;
  };
  for (const Target& target : targets_of_bytes())
    for (const char* steps : {kShortsSteps, kShortsByEight}) expect_exact(target, steps);
  EXPECT_EQ(count(code(kShorts, kShortsSteps, "cascadelake"), "vpdpwssd"), 1);
  EXPECT_EQ(count(code(kShorts, kShortsSteps, "skylake-avx512"), "vpmaddwd"), 1);
  EXPECT_EQ(count(code(kShorts, kShortsSteps, "haswell"), "vpmaddwd"), 2);
}

TEST(Dot2, TakesTheInstructionWhereThereIsOne) {
  for (const char* mcpu : {"cooperlake", "sapphirerapids", "znver4", "znver5"}) {
    const std::string pairs = code(kPairs, kPairsSteps, mcpu);
    EXPECT_EQ(count(pairs, "vdpbf16ps"), 1) << pairs;
    EXPECT_EQ(count(pairs, "[rsp"), 0) << pairs;
  }
  for (const char* mcpu : {"x86-64", "znver3", "icelake-server", "cortex-a72", "neoverse-n2"})
    EXPECT_EQ(count(code(kPairs, kPairsSteps, mcpu), "dpbf16"), 0) << mcpu;
  const std::string eight = code(kPairs, kPairsByEight, "znver4");
  EXPECT_EQ(count(eight, "vdpbf16ps\tymm"), 1) << eight;
  EXPECT_EQ(count(code(kBytes, kBytesByEight, "znver4"), "vpdpbusd\tymm"), 1);
  // Without the forms of 8 sums: as on processors without the instruction.
  EXPECT_EQ(count(code(kPairs, kPairsByEight, "znver4 -mattr=-avx512vl"), "dpbf16"), 0);
}

/// A depthwise convolution, four pixels at once.
constexpr const char* kTaps = R"(
x = PLACEHOLDER [6, 10, 48] u8
w = PLACEHOLDER [3, 3, 48] i8 const
y(i, j, c): i32 += (i32(x[(i + r), (j + s), c])*i32(w[r, s, c])) for i in 4, j in 8, c in 48, r in 3, s in 3
return y
)";

std::string steps_of_taps(int lanes) {
  return "split l2 " + std::to_string(lanes) +
         " overlap; split l1 4 overlap; reorder l0 l7 l5 l4 l3 l8 l6; cache_write o2 l5; unroll l4; unroll l3; unroll "
         "l8; vectorize l6";
}

TEST(Tile, JoinsTheBytesOfAColumnOfTaps) {
  for (const Target& target : targets_of_bytes())
    for (const int lanes : {4, 8, 16})
      EXPECT_FALSE(is_wrong_of_bytes(kTaps, steps_of_taps(lanes), target)) << target.cpu().mcpu << " " << lanes;
  const auto code_of = [](const char* mcpu, int lanes) { return code(kTaps, steps_of_taps(lanes).c_str(), mcpu); };
  // Three columns of three taps a pixel. The six columns of four pixels are joined once each, and those of weights.
  const std::string permuted = code_of("icelake-server", 16);
  EXPECT_EQ(count(permuted, "vpdpbusd"), 12) << permuted;
  EXPECT_EQ(count(permuted, "vpermb"), 9) << permuted;
  EXPECT_EQ(count(code_of("cascadelake", 16), "vpdpbusd"), 12);
  EXPECT_EQ(count(code_of("alderlake", 8), "vpdpbusd"), 12);
  EXPECT_EQ(count(code_of("skylake-avx512", 16), "vpmaddwd"), 24);
  EXPECT_EQ(count(code_of("haswell", 8), "vpmaddwd"), 24);
}

TEST(Tile, RoundsAndConvertsWhatIsClippedAtOnce) {
  const char* text = R"(
x = PLACEHOLDER [5, 64]
y(i, j): u8 = u8(min(max(round((x[i, j]*300f)), 3f), 255f)) for i in 5, j in 64
return y
)";
  for (const int lanes : {4, 8, 16, 32}) {
    const std::string steps = "split l1 " + std::to_string(lanes) + " guard; vectorize l3";
    for (const Target& target : runnable_targets())
      EXPECT_EQ(*error_of(*parse_dag(text), lowered(text, steps.c_str(), target), target, 7), 0) << target.cpu().mcpu;
  }
  const std::string wide = code(text, "split l1 16 guard; vectorize l3", "skylake-avx512");
  EXPECT_EQ(count(wide, "vcvtps2dq"), 1) << wide;
  EXPECT_EQ(count(wide, "vrndscale"), 0) << wide;
  EXPECT_EQ(count(code(text, "split l1 8 guard; vectorize l3", "haswell"), "vcvtps2dq"), 1);
}

TEST(Tile, RunsAsItsLoopsWhereATestStandsInside) {
  // The tile is computed where a reader needs it, which may be beyond the tensor: each element is tested.
  const char* text = R"(
x = PLACEHOLDER [40, 50]
t(i, j) = x[j, i] for i in 50, j in 40
p(i, j) = select((i >= 3) && (i < 53), t[(i - 3), j], 0f) for i in 56, j in 40
y(i, j) = (p[(i + 2), j] + 1f) for i in 50, j in 40
return y
)";
  const char* steps =
      "inline o2; split l4 16 guard; split l5 16 overlap; reorder l6 l8 l7 l9; compute_at o1 l8; tensorize l10 "
      "transpose16";
  const Result<LoopTree> tree = replay(*parse_dag(text), *parse_steps(steps));
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  for (const Target& target : runnable_targets())
    EXPECT_EQ(*error_of(*parse_dag(text), lowered(text, steps, target), target, 7), 0) << target.cpu().mcpu;
}

}  // namespace tile_test
}  // namespace whet
