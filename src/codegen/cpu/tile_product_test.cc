#include <gtest/gtest.h>

#include "codegen/testing/answers.h"
#include "schedule/steps.h"

namespace whet {
namespace tile_product_test {

constexpr const char* kPairs = R"(
a = PLACEHOLDER [40, 96] bf16
b = PLACEHOLDER [96, 48] bf16 const
c(i, j) += (f32(a[i, r])*f32(b[r, j])) for i in 40, j in 48, r in 96
return c
)";
constexpr const char* kBytes = R"(
a = PLACEHOLDER [40, 192] u8
b = PLACEHOLDER [192, 48] i8 const
c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for i in 40, j in 48, r in 192
return c
)";

struct Shape {
  int rows, across, columns, channels, words;
};

/// Tiles of this shape, `across` by `channels` of them side by side.
std::string steps_of(const Shape& s, bool bytes) {
  const auto text = [](int n) { return std::to_string(n); };
  return "split l0 " + text(s.rows * s.across) + " overlap; split l4 " + text(s.rows) + " guard; split l1 " +
         text(s.columns * s.channels) + " overlap; split l8 " + text(s.columns) + " guard; split l2 " +
         (bytes ? "4" : "2") + " guard; split l11 " + text(s.words) +
         " guard; reorder l3 l7 l13 l5 l9 l6 l14 l10 l12; " +
         "unroll l5; unroll l9; pack o1 o2; cache_write o2 l7; tensorize l6 " + (bytes ? "tile_u8" : "tile_bf16");
}

constexpr Shape kShapes[] = {
    {16, 1, 16, 1, 16}, {8, 1, 16, 3, 12}, {10, 2, 16, 2, 8}, {5, 4, 8, 1, 6}, {16, 2, 8, 2, 16}};

Target with_tiles() { return *parse_target("cpu -mcpu=sapphirerapids"); }

/// Those of this machine, and one with tiles where this machine has them.
std::vector<Target> targets() {
  std::vector<Target> all = runnable_targets();
  if (has_tiles()) all.push_back(with_tiles());
  return all;
}

Lowered lowered(const char* text, const std::string& steps, const Target& target) {
  const Result<LoopTree> tree = replay(*parse_dag(text), *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message) << "\n" << steps;
  return lower(*tree, target).value();
}

double error_of_integers(const char* text, const std::string& steps, const Target& target) {
  const ComputeDag dag = *parse_dag(text);
  Rng rng(5);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    Tensor tensor(op.dtype, op.shape);
    const std::int64_t low = op.dtype == DType::u8   ? 0
                             : op.dtype == DType::i8 ? -128
                                                     : -200,
                       high = op.dtype == DType::u8   ? 255
                              : op.dtype == DType::i8 ? 127
                                                      : 200;
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(rng.between(low, high)));
    inputs.push_back(std::move(tensor));
  }
  const Lowered made = lowered(text, steps, target);
  std::vector<Tensor> arguments = *testing::arguments_of(made, dag, inputs);
  arguments = *run_native(made.program, target, arguments, target.threads);
  return *testing::worst_output(made, dag, inputs, arguments);
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

std::string code(const char* text, const std::string& steps, const Target& target) {
  return disassemble(compile_kernel(lowered(text, steps, target).program, target).value(), target).value();
}

/// Products of small whole numbers, and their sums, are exact in f32.
TEST(TileProducts, ComputeWhatTheirLoopsDo) {
  for (const Target& target : targets())
    for (const Shape& shape : kShapes) {
      EXPECT_EQ(error_of_integers(kPairs, steps_of(shape, false), target), 0)
          << target.cpu().mcpu << " " << steps_of(shape, false);
      EXPECT_EQ(error_of_integers(kBytes, steps_of(shape, true), target), 0)
          << target.cpu().mcpu << " " << steps_of(shape, true);
    }
}

TEST(TileProducts, KeepTheirSumsInTheUnitThroughTheReduction) {
  const std::string text = code(kPairs, steps_of({10, 2, 16, 2, 8}, false), with_tiles());
  EXPECT_EQ(count(text, "ldtilecfg"), 1) << text;
  EXPECT_EQ(count(text, "tilerelease"), 1) << text;
  EXPECT_EQ(count(text, "tdpbf16ps"), 4) << text;
  EXPECT_EQ(count(text, "tilestored"), 4) << text;
  EXPECT_EQ(count(text, "tileloadd"), 4) << "each factor once: " << text;
  EXPECT_EQ(count(text, "tilezero"), 4) << "sums that begin with zeros are not loaded: " << text;
  const std::string bytes = code(kBytes, steps_of({10, 2, 16, 2, 8}, true), with_tiles());
  EXPECT_EQ(count(bytes, "tdpbusd"), 4) << bytes;
}

TEST(TileProducts, AreLoopsOnProcessorsWithoutTheUnit) {
  for (const char* mcpu :
       {"znver4", "sapphirerapids -mattr=-amx-tile", "sapphirerapids -mattr=-amx-bf16", "neoverse-n2"})
    EXPECT_EQ(count(code(kPairs, steps_of(kShapes[0], false), *parse_target(std::string("cpu -mcpu=") + mcpu)), "tdp"),
              0)
        << mcpu;
}

/// The last group of rows has fewer: a sum that another worker has is neither read nor written.
TEST(TileProducts, ThatAConditionLeavesOutTouchNoSums) {
  const char* text = R"(
a = PLACEHOLDER [7, 16, 32] bf16
b = PLACEHOLDER [32, 16] bf16 const
c(n, i, j) += (f32(a[n, i, r])*f32(b[r, j])) for n in 7, i in 16, j in 16, r in 32
return c
)";
  const std::string steps =
      "split l0 3 guard; split l3 2 guard; split l6 8 guard; reorder l4 l8 l5 l1 l9 l2 l7; unroll l5; pack o1 o2; "
      "tensorize l1 "
      "tile_bf16; parallel l4";
  for (const Target& target : targets()) EXPECT_EQ(error_of_integers(text, steps, target), 0) << target.cpu().mcpu;
  const std::string made = code(text, steps, with_tiles());
  EXPECT_EQ(count(made, "tdpbf16ps"), count(made, "tilestored")) << "a region for each: " << made;
}

/// Sums in blocks of the reduction begin with those so far.
TEST(TileProducts, ThatContinueSumsLoadThem) {
  const std::string steps =
      "split l0 8 overlap; split l1 16 overlap; split l2 2 guard; split l7 8 guard; split l9 3 guard; reorder l11 l3 "
      "l5 l12 l4 l10 "
      "l6 l8; pack o1 o2; cache_write o2 l5; tensorize l4 tile_bf16";
  for (const Target& target : targets()) EXPECT_EQ(error_of_integers(kPairs, steps, target), 0) << target.cpu().mcpu;
  const std::string text = code(kPairs, steps, with_tiles());
  EXPECT_LT(count(text, "tilezero"), count(text, "ldtilecfg")) << "the first block alone begins with zeros: " << text;
}

/// The loop over words reads its factors anew in each iteration.
TEST(TileProducts, ForgetTheirFactorsWhereALoopBegins) {
  for (const Target& target : targets())
    EXPECT_EQ(error_of_integers(kPairs, steps_of({8, 1, 16, 3, 4}, false), target), 0) << target.cpu().mcpu;
}

TEST(TileProducts, OfMoreThanSixTilesStoreTheirSumsEachStep) {
  const std::string text = code(kPairs, steps_of({5, 4, 8, 2, 6}, false), with_tiles());
  EXPECT_EQ(count(text, "tdpbf16ps"), 8) << text;
  EXPECT_EQ(count(text, "tilestored"), 8) << text;
  EXPECT_EQ(count(text, "ldtilecfg"), 8) << text;
}

}  // namespace tile_product_test
}  // namespace whet
