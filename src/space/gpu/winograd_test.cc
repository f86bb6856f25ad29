#include "space/gpu/winograd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cost/features.h"
#include "cost/gpu/nest.h"
#include "space/testing/gpu_samples.h"

namespace whet {
namespace gpu_winograd_test {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

/// A 3x3 convolution with padding; `epilogue` computes `out`.
std::string convolution(int rows, int columns, int channels, int filters, const std::string& epilogue) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {1}, {2}]
w = PLACEHOLDER [3, 3, {2}, {3}] const
bias = PLACEHOLDER [{3}] const
pad(n, y, z, c) = select((y >= 1) && (y < {4}) && (z >= 1) && (z < {5}), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in {6}, z in {7}, c in {2}  # pad
conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in {0}, ow in {1}, oc in {3}, rh in 3, rw in 3, rc in {2}  # conv
{8}
)",
                     rows, columns, channels, filters, rows + 1, columns + 1, rows + 2, columns + 2, epilogue);
}
std::string with_relu(int rows, int columns, int channels, int filters) {
  return convolution(
      rows, columns, channels, filters,
      fmt::format(
          "out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + bias[oc]), 0f) for n in 1, oh in {}, ow in {}, oc in {}\n"
          "return out",
          rows, columns, filters));
}

void expect_right(const std::string& text, int samples) { testing::expect_right(text, gpu_winograd_sketch, samples); }

TEST(GpuWinograd, ComputesConvolutions) { expect_right(with_relu(8, 8, 8, 12), 6); }
TEST(GpuWinograd, ComputesPicturesThatTilesDoNotDivide) { expect_right(with_relu(7, 5, 6, 10), 6); }
TEST(GpuWinograd, ComputesPicturesThatAreSmallerThanATile) {
  for (const auto& [rows, columns] : {std::pair(3, 3), {1, 6}, {2, 3}})
    expect_right(with_relu(rows, columns, 16, 16), 4);
}
TEST(GpuWinograd, LeavesPicturesOfOneTile) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {1, 2}, {2, 2}})
    EXPECT_FALSE(gpu_winograd_sketch(dag(with_relu(rows, columns, 16, 16)), *parse_target("cuda -model=h100")));
}
TEST(GpuWinograd, ComputesConvolutionsWithoutAnEpilogue) { expect_right(convolution(6, 6, 16, 16, "return conv"), 4); }
TEST(GpuWinograd, HasALaunchForTilesProductsAndResults) {
  const ComputeDag task = dag(with_relu(14, 14, 256, 256));
  const Target target = *parse_target("cuda -model=t4");
  const DesignSpace space(task, {*gpu_winograd_sketch(task, target)});
  Candidate c = space.default_candidate();
  const std::size_t more = c.choices.at("split")[0] > 1;
  EXPECT_EQ(gpu_launches(space.schedule(c)->tree).size(), 3 + more) << to_json(c);
}
TEST(GpuWinograd, IsTheDefaultWhereTheEstimateTakesItForFaster) {
  const ComputeDag task = dag(with_relu(56, 56, 64, 64));
  const Target target = *parse_target("cuda -model=t4");
  EXPECT_EQ(make_space(task, target).default_candidate().sketch, "winograd");
  EXPECT_EQ(make_space(task, target, {.exact = true}).default_candidate().sketch, "product");
  EXPECT_FALSE(numerics_of(*default_steps(task, target)).exact);
  EXPECT_TRUE(numerics_of(*default_steps(task, target, {.exact = true})).exact);
}
TEST(GpuWinograd, LeavesOtherConvolutions) {
  const Target target = *parse_target("cuda -model=h100");
  EXPECT_FALSE(gpu_winograd_sketch(dag(R"(
x = PLACEHOLDER [1, 9, 9, 8]
w = PLACEHOLDER [3, 3, 8, 8] const
conv(n, oh, ow, oc) += (x[n, (oh*2 + rh), (ow*2 + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 4, ow in 4, oc in 8, rh in 3, rw in 3, rc in 8  # conv
return conv
)"),
                                   target));
  EXPECT_FALSE(gpu_winograd_sketch(dag(R"(
x = PLACEHOLDER [1, 9, 9, 8]
w = PLACEHOLDER [3, 3, 8, 8] const
conv(n, oh, ow, oc) += (x[n, (oh + rh*2), (ow + rw*2), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 5, ow in 5, oc in 8, rh in 3, rw in 3, rc in 8  # conv
return conv
)"),
                                   target));
}

}  // namespace gpu_winograd_test
}  // namespace whet
