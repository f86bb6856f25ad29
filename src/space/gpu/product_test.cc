#include "space/gpu/product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cost/features.h"
#include "cost/gpu/nest.h"
#include "space/gpu/product_form.h"
#include "space/gpu/product_tile.h"
#include "space/testing/gpu_samples.h"
#include "space/testing/product_texts.h"

namespace whet {
namespace gpu_product_test {

using testing::convolution_text;
using testing::kDenseText;

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }
DesignSpace products(const ComputeDag& task, const Target& target) { return {task, {*product_sketch(task, target)}}; }

const char* const kBatched = R"(
a = PLACEHOLDER [3, 20, 24]
b = PLACEHOLDER [3, 24, 36]
c(n, i, j) += (a[n, i, r]*b[n, r, j]) for n in 3, i in 20, j in 36, r in 24
return c
)";
void expect_right(const std::string& text, int samples) { testing::expect_right(text, product_sketch, samples); }

TEST(Product, ComputesConvolutions) { expect_right(convolution_text(7, 5, 12), 6); }
TEST(Product, ComputesWhatIsAddedThatStandsBeforeTheSum) {
  expect_right(R"(
y = PLACEHOLDER [6, 6, 10]
x = PLACEHOLDER [6, 6, 8]
w = PLACEHOLDER [8, 12] const
wide(i, j, c) = select((c < 10), y[i, j, c], 0f) for i in 6, j in 6, c in 12  # pad
conv(i, j, c) += (x[i, j, r]*w[r, c]) for i in 6, j in 6, c in 12, r in 8
out(i, j, c) = (conv[i, j, c] + wide[i, j, c]) for i in 6, j in 6, c in 12
return out
)",
               4);
}
/// The projection behind a squeeze: each channel is scaled, beside the weights or beside the pixels.
TEST(Product, ComputesSumsOfProductsOfThree) {
  for (const char* body : {"(x[n, y, z, r]*(s[n, r]*w[r, c]))", "((x[n, y, z, r]*s[n, r])*w[r, c])"})
    for (const int pictures : {1, 2}) {
      const std::string n = std::to_string(pictures);
      const std::string text =
          "s = PLACEHOLDER [" + n + ", 12]\nx = PLACEHOLDER [" + n +
          ", 5, 5, 12]\nw = PLACEHOLDER [12, 16] const\nb = PLACEHOLDER [16] const\n" + "conv(n, y, z, c) += " + body +
          " for n in " + n +
          ", y in 5, z in 5, c in 16, r in 12\nout(n, y, z, c) = (conv[n, y, z, c] + b[c]) for n in " + n +
          ", y in 5, z in 5, c in 16\nreturn out\n";
      expect_right(text, 4);
    }
}
TEST(Product, ComputesBatchedProducts) { expect_right(kBatched, 6); }
TEST(Product, ComputesConvolutionsOfThreeDimensions) {
  expect_right(R"(
x = PLACEHOLDER [1, 4, 6, 6, 4]
w = PLACEHOLDER [3, 3, 3, 4, 8] const
pad(n, d, y, z, c) = select((d >= 1) && (d < 5) && (y >= 1) && (y < 7) && (z >= 1) && (z < 7), x[n, (d - 1), (y - 1), (z - 1), c], 0f) for n in 1, d in 6, y in 8, z in 8, c in 4  # pad
conv(n, d, y, z, oc) += (pad[n, (d + rd), (y + rh), (z + rw), rc]*w[rd, rh, rw, rc, oc]) for n in 1, d in 4, y in 6, z in 6, oc in 8, rd in 3, rh in 3, rw in 3, rc in 4  # conv
out(n, d, y, z, oc) = max(conv[n, d, y, z, oc], 0f) for n in 1, d in 4, y in 6, z in 6, oc in 8
return out
)",
               4);
}
TEST(Product, ComputesSumsInPartsThatASecondLaunchAdds) {
  for (const char* text : {R"(
a = PLACEHOLDER [20, 384]
b = PLACEHOLDER [384, 24] const
bias = PLACEHOLDER [24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 24, r in 384
out(i, j) = max((c[i, j] + bias[j]), 0f) for i in 20, j in 24
return out
)",
                           R"(
a = PLACEHOLDER [2, 9, 384]
b = PLACEHOLDER [2, 384, 10]
c(n, i, j) += (a[n, i, r]*b[n, r, j]) for n in 2, i in 9, j in 10, r in 384
return c
)"}) {
    const ComputeDag task = dag(text);
    const Target target = *parse_target("cuda -model=h100");
    const DesignSpace space = products(task, target);
    Candidate c = space.default_candidate();
    EXPECT_GT(c.choices.at("split")[0], 1) << "one part has too few blocks";
    int tried = 0;
    for (const std::int64_t parts : {2, 3, 4, 6}) {
      c.choices["split"] = {parts}, c.choices["depth"] = {16};
      if (!space.contains(c).ok()) continue;
      ++tried;
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
      EXPECT_EQ(gpu_launches(scheduled->tree).size(), 2u);
      const Result<double> error = testing::error_of(task, scheduled->tree, target);
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message;
      EXPECT_LT(*error, 1e-5) << to_json(c);
    }
    EXPECT_EQ(tried, 4) << to_json(space.default_candidate());
  }
}
TEST(Product, CopiesNeighboursThatAreNeighboursInMemory) {
  const auto runs = [](const std::string& text) {
    const ProductForm form = product_form(dag(text)).value();
    return std::pair(form.left_run, form.right_run);
  };
  EXPECT_EQ(runs(convolution_text(9, 8, 12)), std::pair(std::int64_t{4}, std::int64_t{4}));
  // Windows of 2 x 2 pixels of 3 channels: 6 elements of a row, then those of the next.
  EXPECT_EQ(runs(R"(
x = PLACEHOLDER [1, 8, 8, 3]
w = PLACEHOLDER [2, 2, 3, 16] const
conv(n, oh, ow, oc) += (x[n, (oh*2 + rh), (ow*2 + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 4, ow in 4, oc in 16, rh in 2, rw in 2, rc in 3  # conv
return conv
)"),
            std::pair(std::int64_t{2}, std::int64_t{4}));
  // Channels first: those of a pixel are far from each other.
  EXPECT_EQ(runs(R"(
x = PLACEHOLDER [1, 4, 8, 8]
w = PLACEHOLDER [2, 2, 4, 16] const
conv(n, oh, ow, oc) += (x[n, rc, (oh*2 + rh), (ow*2 + rw)]*w[rh, rw, rc, oc]) for n in 1, oh in 4, ow in 4, oc in 16, rh in 2, rw in 2, rc in 4  # conv
return conv
)"),
            std::pair(std::int64_t{1}, std::int64_t{4}));
}
TEST(Product, UnrollsAPartOfAStep) {
  const ComputeDag task = dag(convolution_text(7, 8, 12));
  const Target target = *parse_target("cuda -model=h100");
  const DesignSpace space = products(task, target);
  Candidate c = space.default_candidate();
  c.choices["depth"] = {24}, c.choices["unroll"] = {8};
  ASSERT_TRUE(space.contains(c).ok()) << space.contains(c).error().message;
  const Result<double> error = testing::error_of(task, space.schedule(c)->tree, target);
  ASSERT_TRUE(error.ok()) << error.error().message;
  EXPECT_LT(*error, 1e-5);
}
TEST(Product, OrdersBlocksForL2) {
  // 130 rows of tiles, which groups of 4 do not divide.
  const ComputeDag small = dag(R"(
a = PLACEHOLDER [2080, 16]
b = PLACEHOLDER [16, 48] const
c(i, j) += (a[i, r]*b[r, j]) for i in 2080, j in 48, r in 16
out(i, j) = max(c[i, j], 0f) for i in 2080, j in 48
return out
)");
  const Target target = *parse_target("cuda -arch=sm_80 -sms=2");
  const ProductForm form = product_form(small).value();
  ProductTile tile{.rows = {1, 8, 2}, .columns = {1, 4, 4}, .depth = 8, .stages = 2};
  for (const std::int64_t raster : {0, 1, 4}) {
    tile.raster = raster;
    Scheduler s(small);
    build_product(s, form, tile);
    ASSERT_TRUE(s.finish().ok()) << s.finish().error().message;
    const Result<double> error = testing::error_of(small, s.tree(), target);
    ASSERT_TRUE(error.ok()) << error.error().message;
    EXPECT_LT(*error, 1e-5) << raster;
  }
}
TEST(Product, AsksForBlocksOnAnSm) {
  const DesignSpace space = products(dag(convolution_text(28, 64, 64)), *parse_target("cuda -model=h100"));
  Candidate c = space.default_candidate();
  c.choices["min_blocks"] = {2};
  EXPECT_NE(to_text(space.schedule(c)->tree).find("# min_blocks 2"), std::string::npos);
}
/// A convolution of three dimensions with padding, of 2 * `side` rows and as many columns by stride 2.
std::string volume_text(int slices, int side, int channels, int filters) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {1}, {1}, {2}]
w = PLACEHOLDER [3, 3, 3, {2}, {3}] const
pad(n, d, y, z, c) = select((d >= 1) && (d < {4}) && (y >= 1) && (y < {5}) && (z >= 1) && (z < {5}), x[n, (d - 1), (y - 1), (z - 1), c], 0f) for n in 1, d in {6}, y in {7}, z in {7}, c in {2}  # pad
conv(n, d, y, z, oc) += (pad[n, (d*2 + rd), (y*2 + rh), (z*2 + rw), rc]*w[rd, rh, rw, rc, oc]) for n in 1, d in {8}, y in {9}, z in {9}, oc in {3}, rd in 3, rh in 3, rw in 3, rc in {2}  # conv
out(n, d, y, z, oc) = max(conv[n, d, y, z, oc], 0f) for n in 1, d in {8}, y in {9}, z in {9}, oc in {3}
return out
)",
                     2 * slices, 2 * side, channels, filters, 2 * slices + 1, 2 * side + 1, 2 * slices + 2,
                     2 * side + 2, slices, side);
}
/// Where no blocks are asked for, ptxas keeps 12 bytes in memory on sm_86, so that a thread takes 96 registers.
TEST(Product, OfWindowsOfThreeDimensionsInPartsAsksForTwoBlocks) {
  const ComputeDag task = dag(volume_text(4, 14, 128, 256));
  const Choices choices = product_sketch(task, *parse_target("cuda -arch=sm_86 -sms=72"))->preferred;
  EXPECT_GT(choices.at("split")[0], 1);
  EXPECT_EQ(choices.at("min_blocks"), Choice{2});
  const Choices flat =
      product_sketch(dag(convolution_text(14, 256, 256)), *parse_target("cuda -arch=sm_86 -sms=72"))->preferred;
  EXPECT_GT(flat.at("split")[0], 1);
  EXPECT_EQ(flat.at("min_blocks"), Choice{0}) << "of two dimensions nothing is asked for";
}
TEST(Product, ComputesDenseLayersWithTails) { expect_right(kDenseText, 6); }
TEST(Product, ComputesSumsThatNoPartDivides) {
  expect_right(R"(
a = PLACEHOLDER [19, 41]
b = PLACEHOLDER [41, 24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 19, j in 24, r in 41
return c
)",
               6);
}
TEST(Product, LeavesWhatIsNoProductOfRowsAndColumns) {
  const Target target = *parse_target("cuda -model=h100");
  EXPECT_FALSE(product_sketch(dag(R"(
x = PLACEHOLDER [9, 9, 8]
w = PLACEHOLDER [3, 3, 8] const
depthwise(y, z, c) += (x[(y + rh), (z + rw), c]*w[rh, rw, c]) for y in 7, z in 7, c in 8, rh in 3, rw in 3
return depthwise
)"),
                              target));
  EXPECT_FALSE(
      product_sketch(dag("x = PLACEHOLDER [5, 7]\ns(i) += (x[i, r]*x[i, r]) for i in 5, r in 7\nreturn s\n"), target));
}
TEST(Product, HasSamplesThatLowerOnEveryGpu) {
  for (const std::string& text : {convolution_text(28, 128, 128), convolution_text(14, 3, 64), std::string(kDenseText)})
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      const ComputeDag task = dag(text);
      const Target target = *parse_target(std::string("cuda -arch=") + arch);
      const DesignSpace space = products(task, target);
      Rng rng(9);
      for (int i = 0; i < testing::random_cases(12); ++i) {
        const Candidate c = space.sample(rng);
        const Result<Scheduled> scheduled = space.schedule(c);
        ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
        const Result<Lowered> lowered = lower(scheduled->tree, target, {}, testing::verify_gpu_passes(target));
        ASSERT_TRUE(lowered.ok()) << to_json(c) << ": " << lowered.error().message;
      }
    }
}
TEST(Product, TakesBlockMemoryAndThreadsWithinTheLimits) {
  const ComputeDag task = dag(convolution_text(28, 128, 128));
  const Target target = *parse_target("cuda -arch=sm_75");
  const DesignSpace space = products(task, target);
  Rng rng(4);
  for (int i = 0; i < testing::random_cases(300); ++i) {
    const Candidate c = space.sample(rng);
    if (c.sketch != "product") continue;
    const LaunchWork launch = gpu_launches(space.schedule(c)->tree).at(0);
    EXPECT_LE(launch.block_memory, limits_of(target.gpu()).block_memory_per_block) << to_json(c);
    EXPECT_LE(launch.threads, 512) << to_json(c);
  }
}
TEST(Product, PrefersWhatTheEstimateTakesForFast) {
  for (const std::string& text :
       {convolution_text(112, 32, 64), convolution_text(56, 64, 64), convolution_text(56, 128, 256)})
    for (const char* model : {"a100", "h100"}) {
      const ComputeDag task = dag(text);
      const Target target = *parse_target(std::string("cuda -model=") + model);
      const DesignSpace space = products(task, target);
      const auto seconds = [&](const Candidate& c) { return analytic_seconds(space.schedule(c)->tree, target); };
      Rng rng(2);
      double best = 1;
      for (int i = 0; i < testing::random_cases(300); ++i) best = std::min(best, seconds(space.sample(rng)));
      EXPECT_LE(seconds(space.default_candidate()), 1.2 * best) << text << model;
    }
}
TEST(Product, SaysWhyAChoiceIsOutside) {
  const DesignSpace space = products(dag(convolution_text(28, 128, 128)), *parse_target("cuda -model=h100"));
  const auto why = [&](const Choices& changes) {
    Candidate c = space.default_candidate();
    for (const auto& [name, choice] : changes) c.choices[name] = choice;
    return space.contains(c).error().message;
  };
  EXPECT_EQ(why({{"rows", {1, 1, 4}}, {"columns", {1, 8, 4}}}),
            "a block would have 8 threads; expected whole warps of 32, at most 512");
  EXPECT_EQ(why({{"pad", {8}}}), "pad = 8 is not among the 2 options of sketch product");
  EXPECT_EQ(why({{"depth", {32}}, {"unroll", {8}}, {"raster", {1}}}), "7 by 1 blocks have one order alone");
  EXPECT_EQ(why({{"depth", {4}}, {"unroll", {8}}}), "4 steps are no whole bodies of 8");
  EXPECT_EQ(why({{"split", {18}}, {"depth", {32}}}),
            "18 parts of 1152 terms are no whole steps of 32, at least 4 of them and 64 terms");
}
TEST(Product, KeepsOneBarrierAStep) {
  const ComputeDag task = dag(convolution_text(28, 128, 128));
  const Target target = *parse_target("cuda -model=h100");
  const DesignSpace space = products(task, target);
  const Result<Lowered> lowered =
      lower_until(*replay(task, *space.steps(space.default_candidate())), target, "place_barriers");
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  const std::string text = to_text(lowered->program);
  std::size_t barriers = 0;
  for (std::size_t at = text.find("barrier block"); at != std::string::npos; at = text.find("barrier block", at + 1))
    ++barriers;
  EXPECT_EQ(barriers, 1u) << text;
  EXPECT_NE(text.find("# async"), std::string::npos) << text;
}

}  // namespace gpu_product_test
}  // namespace whet
