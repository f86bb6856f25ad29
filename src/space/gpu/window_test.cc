#include "space/gpu/window.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cost/features.h"
#include "space/testing/gpu_samples.h"

namespace whet {
namespace gpu_window_test {

void expect_right(const std::string& text, int samples) { testing::expect_right(text, "window", samples); }

/// Depthwise, 3x3, with padding, bias and relu.
std::string depthwise(int side, int channels, int stride) {
  return fmt::format(
      R"(
x = PLACEHOLDER [1, {0}, {0}, {1}]
w = PLACEHOLDER [3, 3, {1}] const
bias = PLACEHOLDER [{1}] const
pad(n, y, z, c) = select((y >= 1) && (y < {3}) && (z >= 1) && (z < {3}), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in {4}, z in {4}, c in {1}  # pad n:batch y:row z:column c:channel
dw(n, oh, ow, c) += (pad[n, (oh*{2} + rh), (ow*{2} + rw), c]*w[rh, rw, c]) for n in 1, oh in {5}, ow in {5}, c in {1}, rh in 3, rw in 3  # depthwise n:batch oh:row ow:column c:channel rh:tap rw:tap
out(n, oh, ow, c) = max((dw[n, oh, ow, c] + bias[c]), 0f) for n in 1, oh in {5}, ow in {5}, c in {1}
return out
)",
      side, channels, stride, side + 1, side + 2, (side - 1) / stride + 1);
}

TEST(Window, ComputesDepthwiseConvolutions) { expect_right(depthwise(9, 12, 1), 8); }
TEST(Window, ComputesDepthwiseConvolutionsOfStrideTwo) { expect_right(depthwise(9, 6, 2), 8); }
TEST(Window, ComputesMaxPoolsWithAnEpilogue) {
  expect_right(R"(
x = PLACEHOLDER [1, 10, 10, 8]
s = PLACEHOLDER [8] const
pad(n, y, z, c) = select((y >= 1) && (y < 11) && (z >= 1) && (z < 11), x[n, (y - 1), (z - 1), c], -inff) for n in 1, y in 12, z in 12, c in 8  # pad n:batch y:row z:column c:channel
p(n, y, z, c) max= pad[n, ((y*2) + rh), ((z*2) + rw), c] for n in 1, y in 5, z in 5, c in 8, rh in 3, rw in 3  # pool n:batch y:row z:column c:channel rh:tap rw:tap
out(n, y, z, c) = (p[n, y, z, c]*s[c]) for n in 1, y in 5, z in 5, c in 8
return out
)",
               8);
}
TEST(Window, ComputesPoolsAlone) {
  expect_right(R"(
x = PLACEHOLDER [2, 9, 9, 5]
p(n, y, z, c) max= x[n, ((y*2) + rh), ((z*2) + rw), c] for n in 2, y in 4, z in 4, c in 5, rh in 3, rw in 3  # pool n:batch y:row z:column c:channel rh:tap rw:tap
return p
)",
               8);
}
TEST(Window, LoadsWhatIsPaddedOnceToRegisters) {
  const ComputeDag task = *parse_dag(depthwise(56, 64, 1));
  const Target target = *parse_target("cuda -model=h100");
  const DesignSpace space = make_space(task, target);
  Candidate c = space.default_candidate();
  c.choices = {{"rows", {1}}, {"columns", {2}}, {"vector", {4}}, {"threads", {64}}, {"min_blocks", {0}}};
  EXPECT_EQ(to_text(space.schedule(c)->tree), R"(block n·oh.0·ow.0 in 392
  thread ow.1·c.0 in 64
    pad @registers
    unroll n in 1
      unroll y in 3
        unroll z in 4
          vector c in 4
            pad
    dw @registers
    unroll rh in 3
      unroll rw in 3
        unroll n in 1
          unroll oh in 1
            unroll ow in 2
              vector c in 4
                dw
    unroll oh.1 in 1
      unroll ow.2 in 2
        vector c.1 in 4
          out
)");
}
/// Where no blocks are asked for, ptxas keeps 4 bytes of this patch in memory on sm_75, so that a thread takes 64 registers.
TEST(Window, OfLargePatchesAsksForBlocksOnSm75) {
  const ComputeDag task = *parse_dag(depthwise(56, 128, 1));
  const auto blocks = [&](const char* target) {
    return window_sketch(task, *parse_target(target))->preferred.at("min_blocks");
  };
  EXPECT_EQ(blocks("cuda -arch=sm_75 -sms=40"), Choice{4});
  EXPECT_EQ(blocks("cuda -arch=sm_80 -sms=108"), Choice{0});
}
TEST(Window, SaysWhyAPatchIsTooLarge) {
  const DesignSpace space = make_space(*parse_dag(depthwise(56, 64, 2)), *parse_target("cuda -model=h100"));
  Candidate c = space.default_candidate();
  c.choices = {{"rows", {4}}, {"columns", {7}}, {"vector", {4}}, {"threads", {64}}, {"min_blocks", {0}}};
  EXPECT_EQ(space.contains(c).error().message, "a thread needs about 501 registers; it has 255");
}
TEST(Window, LeavesSumsAlongRowsProductsAndLargeWindows) {
  const Target target = *parse_target("cuda -model=h100");
  EXPECT_FALSE(
      window_sketch(*parse_dag("x = PLACEHOLDER [5, 70]\ns(i) += x[i, r] for i in 5, r in 70\nreturn s\n"), target));
  EXPECT_FALSE(window_sketch(*parse_dag("x = PLACEHOLDER [100, 64]\ns(c) += x[r, c] for c in 64, r in 100\nreturn s\n"),
                             target));
}

}  // namespace gpu_window_test
}  // namespace whet
