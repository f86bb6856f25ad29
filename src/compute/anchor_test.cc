#include "compute/anchor.h"

#include <gtest/gtest.h>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// A convolution over padded pictures, with or without what is behind it.
ComputeDag conv(std::int64_t size, std::int64_t channels, std::int64_t stride, const std::string& behind) {
  const auto n = [](std::int64_t value) { return std::to_string(value); };
  const std::string in = n(size * stride), padded = n(size * stride + 2), out = n(size), c = n(channels), s = n(stride);
  return parse_dag(
             "x = PLACEHOLDER [1, " + in + ", " + in + ", 64]\nw = PLACEHOLDER [3, 3, 64, " + c +
             "] const\npad(n, y, q, c) = select((y >= 1) && (y < " + n(size * stride + 1) + ") && (q >= 1) && (q < " +
             n(size * stride + 1) + "), x[n, (y - 1), (q - 1), c], 0f) for n in 1, y in " + padded + ", q in " +
             padded + ", c in 64  # pad n:batch y:row q:column c:channel\n" + "conv(n, y, q, o) += (pad[n, (y*" + s +
             " + a), (q*" + s + " + b), i]*w[a, b, i, o]) for n in 1, y in " + out + ", q in " + out + ", o in " + c +
             ", a in 3, b in 3, i in 64  # conv n:batch y:row q:column o:out_channel a:tap b:tap i:in_channel\n" +
             behind)
      .value();
}
ComputeDag alone(std::int64_t size, std::int64_t channels, std::int64_t stride = 1) {
  return conv(size, channels, stride, "return conv\n");
}
ComputeDag with_relu(std::int64_t size, std::int64_t channels) {
  const std::string s = std::to_string(size);
  return conv(size, channels, 1,
              "out(n, y, q, o) = max(conv[n, y, q, o], 0f) for n in 1, y in " + s + ", q in " + s + ", o in " +
                  std::to_string(channels) + "  # elementwise\nreturn out\n");
}

TEST(Anchor, IsTheConvolutionWhateverIsBehindIt) {
  const Anchor anchor = *anchor_of(alone(28, 96));
  EXPECT_EQ(anchor.kind, "conv f32(f32,f32)+= batch,row,column,out_channel; in_channel,tap,tap");
  EXPECT_EQ(anchor.extents, (std::vector<std::int64_t>{1, 28, 28, 96, 64, 3, 3}));
  EXPECT_TRUE(anchor.padded);
  EXPECT_EQ(anchor.stride, 1);
  const Anchor other = *anchor_of(with_relu(28, 96));
  EXPECT_EQ(other.kind, anchor.kind);
  EXPECT_EQ(other.extents, anchor.extents);
  EXPECT_NE(other.structure, anchor.structure);
  EXPECT_EQ(describe(anchor), "conv 1x28x28x96 of 64x3x3");
}
TEST(Anchor, KnowsTheStride) {
  EXPECT_EQ(anchor_of(alone(28, 96, 2))->stride, 2);
  EXPECT_EQ(describe(*anchor_of(alone(28, 96, 2))), "conv 1x28x28x96 of 64x3x3, stride 2");
}
TEST(Anchor, DoesNotDependOnNames) {
  std::string text = to_text(alone(28, 96));
  for (std::size_t at = text.find("conv("); at != text.npos; at = text.find("conv(", at))
    text.replace(at, 5, "result(");
  for (std::size_t at = text.find("return conv"); at != text.npos; at = text.npos)
    text.replace(at, 11, "return result");
  EXPECT_EQ(anchor_of(parse_dag(text).value()), anchor_of(alone(28, 96)));
}
TEST(Anchor, OfAChainHasBothItsOps) {
  const ComputeDag dag = parse_dag(R"(
x = PLACEHOLDER [8, 16]
w = PLACEHOLDER [16, 32] const
v = PLACEHOLDER [32, 4] const
a(i, j) += (x[i, k]*w[k, j]) for i in 8, j in 32, k in 16  # matmul i:row j:column
b(i, j) += (a[i, k]*v[k, j]) for i in 8, j in 4, k in 32  # matmul i:row j:column
return b
)")
                             .value();
  EXPECT_EQ(anchor_of(dag)->kind, "matmul f32(f32,f32)+= row,column; other > matmul f32(f32,f32)+= row,column; other");
  EXPECT_EQ(anchor_of(dag)->extents, (std::vector<std::int64_t>{8, 32, 16, 8, 4, 32}));
  EXPECT_EQ(describe(*anchor_of(dag)), "matmul 8x32 of 16 > matmul 8x4 of 32");
}
TEST(Anchor, IsTheLargestReductionWhereThereIsNoProduct) {
  const ComputeDag dag = parse_dag(R"(
x = PLACEHOLDER [8, 16]
m(i) max= x[i, k] for i in 8, k in 16  # reduce i:row
s(i) += m[k] for i in 1, k in 8  # reduce
return s
)")
                             .value();
  EXPECT_EQ(anchor_of(dag)->kind, "reduce f32(f32)max= row; other");
}
TEST(Anchor, IsNothingWithoutAReduction) {
  EXPECT_FALSE(anchor_of(parse_dag("x = PLACEHOLDER [8]\ny(i) = max(x[i], 0f) for i in 8\nreturn y\n").value()));
}

TEST(AnchorDistance, CountsDoublingsAndWhatIsAround) {
  const Anchor anchor = *anchor_of(alone(28, 96));
  EXPECT_EQ(anchor_distance(anchor, anchor), 0);
  EXPECT_DOUBLE_EQ(anchor_distance(anchor, *anchor_of(alone(28, 192))), 1);
  EXPECT_DOUBLE_EQ(anchor_distance(anchor, *anchor_of(alone(56, 96))), 2);
  EXPECT_DOUBLE_EQ(anchor_distance(anchor, *anchor_of(with_relu(28, 96))), 0.25);
  EXPECT_DOUBLE_EQ(anchor_distance(anchor, *anchor_of(alone(28, 96, 2))), 2);
}
TEST(AnchorDistance, IsAMetric) {
  std::vector<Anchor> all;
  for (const std::int64_t size : {7, 28, 56})
    for (const std::int64_t channels : {64, 96})
      for (const std::int64_t stride : {1, 2}) all.push_back(*anchor_of(alone(size, channels, stride)));
  all.push_back(*anchor_of(with_relu(28, 96)));
  for (const Anchor& a : all)
    for (const Anchor& b : all) {
      EXPECT_EQ(anchor_distance(a, b), anchor_distance(b, a));
      EXPECT_EQ(anchor_distance(a, b) == 0, a == b);
      for (const Anchor& c : all)
        EXPECT_LE(anchor_distance(a, c), anchor_distance(a, b) + anchor_distance(b, c) + 1e-9);
    }
}
TEST(AnchorDistance, IsInfiniteBetweenKinds) {
  Anchor other = *anchor_of(alone(28, 96));
  other.kind = "matmul f32(f32,f32)+= row,column; other";
  EXPECT_EQ(anchor_distance(*anchor_of(alone(28, 96)), other), kInfinity);
}

}  // namespace
}  // namespace whet
