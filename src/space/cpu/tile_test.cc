#include "space/cpu/tile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "space/cpu/register_tile.h"
#include "space/padding.h"

namespace whet {
namespace cpu_tile_test {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

Target avx512(int threads = 2) { return *parse_target(fmt::format("cpu -mcpu=sapphirerapids -threads={}", threads)); }

/// A 3x3 convolution of a picture of 28 x 28 that keeps its size.
std::string convolution(int channels, int filters, int dilation) {
  const int padded = 28 + 2 * dilation, end = 28 + dilation;
  return fmt::format(R"(
x = PLACEHOLDER [1, 28, 28, {0}]
w = PLACEHOLDER [3, 3, {0}, {1}] const
pad(n, y, x_, c) = select((y >= {2}) && (y < {4}) && (x_ >= {2}) && (x_ < {4}), x[n, (y - {2}), (x_ - {2}), c], 0f) for n in 1, y in {3}, x_ in {3}, c in {0}  # pad
conv(n, y, x_, oc) += (pad[n, (y + (rh*{2})), (x_ + (rw*{2})), rc]*w[rh, rw, rc, oc]) for n in 1, y in 28, x_ in 28, oc in {1}, rh in 3, rw in 3, rc in {0}  # conv n:batch y:row x_:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)",
                     channels, filters, dilation, padded, end);
}

std::string preferred(const std::string& text, int threads = 2) {
  const std::optional<Sketch> sketch = tile_sketch(dag(text), avx512(threads));
  if (!sketch) return "no sketch";
  std::string said;
  for (const auto& [name, choice] : sketch->preferred) said += fmt::format("{}={} ", name, choice.front());
  return said;
}

std::string read_columns(const std::string& text, std::int64_t axis) {
  ComputeDag d = dag(text);
  Scheduler s(d);
  s.inline_op(OpId(2));
  std::string said;
  for (const auto& [first, end] : unpadded(s.tree().dag.op(OpId(3)).element(), axis))
    said += fmt::format("{}..{} ", first, end);
  return said;
}

TEST(Padding, IsKnownOfEachTap) {
  EXPECT_EQ(read_columns(convolution(16, 32, 1), 2), "1..28 0..28 0..27 ");
  EXPECT_EQ(read_columns(convolution(16, 32, 12), 1), "12..28 0..28 0..16 ");
  EXPECT_EQ(read_columns(convolution(16, 32, 36), 2), "28..28 0..28 28..28 ");
}
TEST(Padding, IsNoneAlongChannels) { EXPECT_EQ(read_columns(convolution(16, 32, 1), 3), ""); }

TEST(TileDefault, TakesTheColumnsThatTapsFarApartReadWhole) {
  const std::string near = preferred(convolution(64, 96, 1)), far = preferred(convolution(64, 96, 12));
  EXPECT_NE(near.find("ow=7 "), std::string::npos) << near;
  EXPECT_NE(far.find("ow=4 "), std::string::npos) << far;
}
TEST(TileDefault, AsksAheadForWeightsThatTheFirstLevelDoesNotHold) {
  EXPECT_EQ(preferred(convolution(16, 32, 1)).find("ahead="), std::string::npos);
  EXPECT_NE(preferred(convolution(64, 96, 1)).find("ahead=16 "), std::string::npos);
  // Its tiles at the ends of rows have no registers left for it.
  EXPECT_NE(preferred(convolution(64, 96, 2)).find("ahead=0 "), std::string::npos);
}
TEST(TileTemplate, AsksSoManyReductionStepsAheadHoweverManyAreUnrolled) {
  const ComputeDag d = dag(convolution(64, 96, 1));
  const Sketch sketch = *tile_sketch(d, avx512());
  const auto iterations = [&](std::int64_t unrolled) {
    Sketch::Choices choices = sketch.preferred;
    choices["ic"] = {unrolled};
    Scheduler s(d);
    sketch.build(s, choices);
    EXPECT_TRUE(s.finish().ok());
    return s.tree().prefetches.at(0).ahead;
  };
  EXPECT_EQ(iterations(1), 16);
  EXPECT_EQ(iterations(4), 4);
}
/// `rows` x `columns` pixels of 96 channels, mixed to `filters`.
std::string pointwise(int rows, int columns, int filters) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {1}, 96]
w = PLACEHOLDER [1, 1, 96, {2}] const
conv(n, y, x_, oc) += (x[n, (y + rh), (x_ + rw), rc]*w[rh, rw, rc, oc]) for n in 1, y in {0}, x_ in {1}, oc in {2}, rh in 1, rw in 1, rc in 96  # conv n:batch y:row x_:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)",
                     rows, columns, filters);
}

TEST(TileDefault, CutsPicturesThatAreMetPixelByPixelAnywhere) {
  const std::string text = pointwise(7, 7, 384);
  EXPECT_NE(preferred(text).find("ow=7 "), std::string::npos) << preferred(text);
  const Result<Steps> steps = default_steps(dag(text), avx512());
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(to_text(steps->front()), "merge o2 1");
}
TEST(TileDefault, SharesChannelsOutWhereWeightsOutweighThePictures) {
  EXPECT_NE(preferred(pointwise(2, 3, 2048)).find("order=2 "), std::string::npos);
  EXPECT_EQ(preferred(pointwise(56, 56, 256)).find("order=2 "), std::string::npos);
}
TEST(TileSpace, HasTilesOfPairsWhereTheProcessorMultipliesBf16) {
  const auto name_for = [](int channels, int filters, const char* processor) {
    const ComputeDag product = dag(fmt::format(
        "a = PLACEHOLDER [64, {0}] bf16\nb = PLACEHOLDER [{0}, {1}] bf16 const\ny(i, j) += (f32(a[i, k])*f32(b[k, j])) "
        "for i in 64, j in {1}, k in {0}  # matmul i:row j:out_channel k:in_channel\nreturn y\n",
        channels, filters));
    const auto sketch = tile_sketch(product, *parse_target(fmt::format("cpu -mcpu={} -threads=2", processor)));
    return sketch ? sketch->name : "none";
  };
  EXPECT_EQ(name_for(128, 64, "znver4"), "tile+pairs");
  EXPECT_EQ(name_for(128, 64, "sapphirerapids -mattr=-avx512bf16"), "tile+pack");
  EXPECT_EQ(name_for(128, 64, "icelake-server"), "tile+pack");
  EXPECT_EQ(name_for(127, 64, "znver4"), "tile+pack");
  EXPECT_EQ(name_for(128, 8, "znver4"), "tile+pack");
}

/// A product of two activations.
std::string activations(int rows, int depth, int columns) {
  return fmt::format(
      "a = PLACEHOLDER [{0}, {1}]\nb = PLACEHOLDER [{1}, {2}]\nc = PLACEHOLDER [{0}, {2}]\nsum(i, j) += (a[i, k]*b[k, "
      "j]) for i in {0}, j in {2}, k in {1}  # matmul i:row j:out_channel k:in_channel\ny(i, j) = (sum[i, j] + c[i, "
      "j]) "
      "for i in {0}, j in {2}\nreturn y\n",
      rows, depth, columns);
}
TEST(TileCopy, IsForRowsThatShareFewSetsOfTheCaches) {
  EXPECT_TRUE(tile_copy_sketch(dag(activations(256, 512, 1024)), avx512()));
  EXPECT_FALSE(tile_copy_sketch(dag(activations(256, 512, 1000)), avx512())) << "rows of 4,000 bytes";
  EXPECT_FALSE(tile_copy_sketch(dag(activations(8, 512, 1024)), avx512())) << "few rows read the copy";
  EXPECT_FALSE(tile_copy_sketch(dag(activations(256, 8, 256)), avx512())) << "the operand stays in the first level";
  EXPECT_FALSE(tile_copy_sketch(dag(pointwise(56, 56, 256)), avx512())) << "weights are packed";
}
TEST(TileCopy, IsNotForAMatrixTimesItself) {
  const std::string square =
      "a = PLACEHOLDER [512, 512]\nsum(i, j) += (a[i, k]*a[k, j]) for i in 512, j in 512, k in 512  # matmul i:row "
      "j:out_channel "
      "k:in_channel\nreturn sum\n";
  EXPECT_FALSE(tile_copy_sketch(dag(square), avx512())) << "all of it would be copied for each tile";
}
TEST(TileCopy, LeavesNoWorkerWithoutAShare) {
  const ComputeDag product = dag(activations(4096, 512, 256));
  EXPECT_FALSE(tile_copy_sketch(product, *parse_target("cpu -mcpu=skylake-avx512 -threads=32")));
  EXPECT_TRUE(tile_copy_sketch(product, *parse_target("cpu -mcpu=skylake-avx512 -threads=2")));
}
TEST(TileCopy, IsMadeOnceForATileOfChannels) {
  const ComputeDag product = dag(activations(256, 512, 1024));
  const Result<Steps> steps = default_steps(product, avx512());
  ASSERT_TRUE(steps.ok());
  const std::string text = to_text(*steps);
  EXPECT_TRUE(text.starts_with("cache_read o1 o3; ")) << text;
  EXPECT_NE(text.find("compute_at o3"), std::string::npos) << text;
}

TEST(TileSpace, HasBlocksOfPixelsThatChannelsPass) {
  const std::optional<Sketch> sketch = tile_sketch(dag(pointwise(14, 14, 256)), avx512());
  ASSERT_TRUE(sketch);
  const DesignSpace space(dag(pointwise(14, 14, 256)), {*sketch});
  Choices choices = sketch->preferred;
  choices["order"] = {1}, choices["oc"] = {48}, choices["ow"] = {6}, choices["blocks"] = {4};
  const Result<Scheduled> blocks = space.schedule({sketch->name, choices});
  ASSERT_TRUE(blocks.ok()) << blocks.error().message;
  EXPECT_NE(to_text(blocks->tree).find("in 4  # 196 by 54, overlap\n  for oc.0 in 6 "), std::string::npos)
      << to_text(blocks->tree);
  choices["order"] = {2};
  EXPECT_EQ(space.contains({sketch->name, choices}).error().message,
            "only order 1 has a loop between a block and its tiles");
}
TEST(TileDefault, OfTwoActivationsKeepsTheTileOfTheSecondWhileTheRowsOfTheFirstPass) {
  const std::string product = preferred(R"(
a = PLACEHOLDER [12, 192, 64]
b = PLACEHOLDER [12, 64, 192]
c(h, m, n) += (a[h, m, k]*b[h, k, n]) for h in 12, m in 192, n in 192, k in 64  # matmul h:batch m:row n:out_channel k:in_channel
return c
)");
  EXPECT_NE(product.find("order=1 "), std::string::npos) << product;
}
TEST(TileSpace, HasTilesThatFitOddNumbersOfRows) {
  EXPECT_EQ((Tiling{.oc = 64, .ow = 197}.ow_options()),
            (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 20, 22, 25, 28}));
}
std::string depthwise(int channels) {
  return fmt::format(R"(
x = PLACEHOLDER [1, 58, 58, {0}]
w = PLACEHOLDER [3, 3, {0}] const
dw(n, y, x_, c) += (x[n, (y + rh), (x_ + rw), c]*w[rh, rw, c]) for n in 1, y in 56, x_ in 56, c in {0}, rh in 3, rw in 3  # depthwise n:batch y:row x_:column c:channel rh:tap rw:tap
return dw
)",
                     channels);
}
TEST(TileDefault, OfDepthwiseChannelsKeepsOneTilesColumnInTheFirstLevelWhereOneWorkerHasAll) {
  EXPECT_NE(preferred(depthwise(144), 1).find("order=2 "), std::string::npos);
  EXPECT_NE(preferred(depthwise(32), 1).find("order=0 "), std::string::npos) << "two tiles share lines";
  EXPECT_NE(preferred(depthwise(144), 2).find("order=0 "), std::string::npos);
}
TEST(TileDefault, OfWideDepthwiseRowsIsTall) {
  const std::string wide = preferred(depthwise(144)), narrow = preferred(depthwise(16));
  EXPECT_NE(wide.find("oh=4 "), std::string::npos) << wide;
  EXPECT_NE(narrow.find("oh=1 "), std::string::npos) << narrow;
}
TEST(TileDefault, BlocksAReductionWhoseWeightsOverflowTheSecondLevel) {
  const std::string deep = preferred(convolution(2048, 256, 12)), flat = preferred(convolution(256, 256, 12));
  EXPECT_NE(deep.find("k=512 "), std::string::npos) << deep;
  EXPECT_NE(flat.find("k=0 "), std::string::npos) << flat;
}
TEST(TileDefault, KeepsTheWeightsOfSeveralTilesWhereThePictureIsLarge) {
  const std::string large = preferred(convolution(352, 384, 1)), small = preferred(convolution(64, 96, 1));
  EXPECT_NE(large.find("group=2 "), std::string::npos) << large;
  EXPECT_NE(small.find("group=1 "), std::string::npos) << small;
}

std::string default_tree(const char* text) {
  const ComputeDag d = dag(text);
  return to_text(*replay(d, *default_steps(d, avx512())));
}

TEST(TileDefault, OfGroupsOfAFewChannelsHasVectorsOverSeveral) {
  const char* const text = R"(
x = PLACEHOLDER [1, 58, 58, 128]
w = PLACEHOLDER [3, 3, {0}, 128] const
conv(n, y, x_, oc) += (x[n, (y + rh), (x_ + rw), ((floordiv(oc, {0})*{0}) + rc)]*w[rh, rw, rc, oc]) for n in 1, y in 56, x_ in 56, oc in 128, rh in 3, rw in 3, rc in {0}  # conv n:batch y:row x_:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)";
  const std::string few = preferred(fmt::format(fmt::runtime(text), 4)),
                    many = preferred(fmt::format(fmt::runtime(text), 8));
  EXPECT_NE(few.find("ic=4 k=0 oc=32 oh=1 "), std::string::npos) << few;
  EXPECT_NE(many.find("oc=8 "), std::string::npos) << many;
}

TEST(RowsDefault, GathersForSeveralRowsAtOnce) {
  EXPECT_EQ(default_tree(R"(
x = PLACEHOLDER [64, 28, 28]
t(c, i, j) = x[c, floordiv(i*27, 55), floordiv(j*27, 55)] for c in 64, i in 56, j in 56  # resize
return t
)"),
            R"(parallel c in 64
  for i.0 in 7
    for j.0 in 4  # 56 by 16, overlap
      unroll i.1 in 8
        vector j.1 in 16
          t
)");
}
TEST(RowsDefault, ReadsWhatIsRepeatedBlockByBlock) {
  EXPECT_EQ(default_tree(R"(
x = PLACEHOLDER [64, 28]
t(c, j) = x[c, floormod(j, 28)] for c in 64, j in 56  # injective
return t
)"),
            R"(parallel c in 64
  for j.0 in 2
    vector j.1 in 28
      t
)");
}

}  // namespace cpu_tile_test
}  // namespace whet
