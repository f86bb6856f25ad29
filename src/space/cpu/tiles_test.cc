#include "space/cpu/tiles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace whet {
namespace tiles_test {

ComputeDag product(int rows, int depth, int columns, const std::string& type = "bf16") {
  const std::string read = type == "f32" ? "{}" : "f32({})";
  return *parse_dag(
      fmt::format("a = PLACEHOLDER [{0}, {1}] {3}\nb = PLACEHOLDER [{1}, {2}] {3} const\ny(i, j) += ({4}*{5}) for i in "
                  "{0}, j in {2}, k in {1}  # matmul i:row j:out_channel k:in_channel\nreturn y\n",
                  rows, depth, columns, type, fmt::format(fmt::runtime(read), "a[i, k]"),
                  fmt::format(fmt::runtime(read), "b[k, j]")));
}

ComputeDag convolution(int side, int channels) {
  return *parse_dag(fmt::format(R"(x = PLACEHOLDER [1, {0}, {0}, {1}] bf16
w = PLACEHOLDER [3, 3, {1}, {1}] bf16 const
pad(n, y_, x_, c): bf16 = select((y_ >= 1) && (y_ < {2}) && (x_ >= 1) && (x_ < {2}), x[n, (y_ - 1), (x_ - 1), c], 0b) for n in 1, y_ in {3}, x_ in {3}, c in {1}  # pad n:batch y_:row x_:column c:channel
conv(n, oh, ow, oc) += (f32(pad[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for n in 1, oh in {0}, ow in {0}, oc in {1}, rh in 3, rw in 3, rc in {1}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)",
                                side, channels, side + 1, side + 2));
}

std::optional<Sketch> sketch_for(const ComputeDag& dag, const std::string& processor = "sapphirerapids") {
  return tiles_sketch(dag, *parse_target("cpu -mcpu=" + processor + " -threads=2"));
}

TEST(Tiles, AreForProductsOfBf16WhereTheTargetHasAUnit) {
  EXPECT_TRUE(sketch_for(product(64, 128, 64)));
  EXPECT_TRUE(sketch_for(product(64, 128, 64), "graniterapids"));
  for (const char* processor : {"znver4", "sapphirerapids -mattr=-amx-tile", "sapphirerapids -mattr=-amx-bf16"})
    EXPECT_FALSE(sketch_for(product(64, 128, 64), processor)) << processor;
  EXPECT_FALSE(sketch_for(product(64, 128, 64, "f32")));
}

TEST(Tiles, AreNotForFewRowsOrAnOddReduction) {
  EXPECT_FALSE(sketch_for(product(3, 128, 64)));
  EXPECT_FALSE(sketch_for(product(64, 127, 64)));
  EXPECT_FALSE(sketch_for(product(64, 2 * 17, 64))) << "17 words are no whole steps";
}

TEST(Tiles, AreNotForShortSumsOfBytes) {
  const auto bytes = [](int depth) {
    return *parse_dag(fmt::format(
        "a = PLACEHOLDER [64, {0}] u8\nb = PLACEHOLDER [{0}, 64] i8 const\ny(i, j): i32 += (i32(a[i, k])*i32(b[k, "
        "j])) for i in 64, j in 64, k in {0}  # matmul i:row j:out_channel k:in_channel\nreturn y\n",
        depth));
  };
  EXPECT_FALSE(sketch_for(bytes(64)));
  EXPECT_TRUE(sketch_for(bytes(96)));
}

TEST(Tiles, GiveTheDefaultScheduleBeforeThoseOfPairs) {
  const DesignSpace space = make_space(product(64, 128, 64), *parse_target("cpu -mcpu=sapphirerapids"));
  ASSERT_GE(space.sketches().size(), 2u);
  EXPECT_EQ(space.sketches()[0].name, "tile+amx");
  EXPECT_EQ(space.sketches()[1].name, "tile+pairs");
}

TEST(Tiles, HaveRowsThatFitThePicture) {
  for (const auto& [side, rows] : {std::pair(56, 14), {28, 14}, {14, 14}, {7, 7}}) {
    const std::optional<Sketch> sketch = sketch_for(convolution(side, 64));
    ASSERT_TRUE(sketch) << side;
    EXPECT_EQ(sketch->preferred.at("rows").front(), rows);
    EXPECT_EQ(sketch->preferred.at("words").front(), 16);
  }
}

TEST(Tiles, CopyAPictureWithItsBorder) {
  const ComputeDag dag = convolution(14, 64);
  const std::optional<Sketch> sketch = sketch_for(dag);
  ASSERT_TRUE(sketch);
  Scheduler scheduler(dag);
  sketch->build(scheduler, sketch->preferred);
  const std::string steps = to_text(*scheduler.finish());
  EXPECT_NE(steps.find("compute_at o2"), std::string::npos) << steps;
  EXPECT_NE(steps.find("tile_bf16"), std::string::npos) << steps;
}

TEST(Tiles, LeaveTwoForTheFactors) {
  const std::optional<Sketch> sketch = sketch_for(product(64, 128, 64));
  ASSERT_TRUE(sketch);
  Choices choices = sketch->preferred;
  EXPECT_TRUE(is_within(*sketch, choices));
  choices["rows"] = {16}, choices["across"] = {3}, choices["channels"] = {3};
  EXPECT_FALSE(is_within(*sketch, choices));
}

}  // namespace tiles_test
}  // namespace whet
