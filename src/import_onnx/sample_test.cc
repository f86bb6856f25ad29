#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

// Regions whose samples are as many as they have pixels, held against plain loops over the samples.

namespace whet {
namespace sample_test {

constexpr std::int64_t kImages = 2, kChannels = 3, kRows = 7, kColumns = 9, kRegions = 12, kCellRows = 2,
                       kCellColumns = 3;

/// The four pixels around a place times their weights: their sum, or the largest.
double sample(const Tensor& x, std::int64_t plane, double row, double column, bool largest) {
  if (row < -1 || row > kRows || column < -1 || column > kColumns) return 0;
  row = std::clamp<double>(row, 0, kRows - 1), column = std::clamp<double>(column, 0, kColumns - 1);
  const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(column);
  const std::int64_t below = std::min(r + 1, kRows - 1), right = std::min(c + 1, kColumns - 1);
  const double down = row - double(r), along = column - double(c);
  const auto at = [&](std::int64_t i, std::int64_t j) { return x.get((plane * kRows + i) * kColumns + j); };
  const double parts[] = {(1 - down) * (1 - along) * at(r, c), (1 - down) * along * at(r, right),
                          down * (1 - along) * at(below, c), down * along * at(below, right)};
  return largest ? *std::max_element(parts, parts + 4) : parts[0] + parts[1] + parts[2] + parts[3];
}

struct Form {
  bool half_pixel, largest;
};
/// The mean of a cell's samples, or the largest.
double cell(const Tensor& x, const Tensor& regions, std::int64_t region, std::int64_t plane, std::int64_t row,
            std::int64_t column, double scale, const Form& form) {
  const auto corner = [&](std::int64_t k) { return regions.get(region * 4 + k) * scale - (form.half_pixel ? 0.5 : 0); };
  double height = corner(3) - corner(1), width = corner(2) - corner(0);
  if (!form.half_pixel) height = std::max(height, 1.0), width = std::max(width, 1.0);
  height /= kCellRows, width /= kCellColumns;
  const double down = std::ceil(height), along = std::ceil(width);
  if (down < 1 || along < 1) return 0;
  double sum = 0, top = -1e9;
  for (double i = 0; i < down; ++i)
    for (double j = 0; j < along; ++j) {
      const double y = sample(x, plane, corner(1) + double(row) * height + (i + 0.5) * height / down,
                              corner(0) + double(column) * width + (j + 0.5) * width / along, form.largest);
      sum += y, top = std::max(top, y);
    }
  return form.largest ? top : sum / (down * along);
}

TEST(RoiAlign, MayHaveAsManySamplesAsPixels) {
  Rng rng(7);
  Tensor x(DType::f32, {kImages, kChannels, kRows, kColumns}), regions(DType::f32, {kRegions, 4}),
      images(DType::i64, {kRegions});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, rng.uniform(-1, 1));
  for (std::int64_t r = 0; r < kRegions; ++r) {
    images.set_integer(r, r % kImages);
    const double left = rng.uniform(-6, 12), top = rng.uniform(-6, 12), far = r < 4 ? 60 : 9;
    const double sides[] = {left, top, left + rng.uniform(r == 5 ? -3 : 0, far), top + rng.uniform(0, far)};
    for (std::int64_t k = 0; k < 4; ++k) regions.set(r * 4 + k, sides[k]);
  }
  // Cells of less than a tenth of a pixel.
  for (std::int64_t k = 0; k < 4; ++k) regions.set((kRegions - 1) * 4 + k, k < 2 ? 5.3 : 5.5);
  for (const auto& [half_pixel, largest] : {Form{true, false}, {false, false}, {true, true}, {false, true}}) {
    const Attributes attributes = {
        set("output_height", int(kCellRows)), set("output_width", int(kCellColumns)), set("spatial_scale", 0.75),
        set("mode", largest ? "max" : "avg"),
        set("coordinate_transformation_mode", half_pixel ? "half_pixel" : "output_half_pixel")};
    const Result<Graph> graph =
        import_onnx(one_node("RoiAlign", 16, {fed(x), fed(regions), fed(images)}, attributes), {});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const Tensor y = evaluate_graph(*graph, {x, regions, images}).value()[graph->outputs[0].index()];
    ASSERT_EQ(y.shape(), (Shape{kRegions, kChannels, kCellRows, kCellColumns}));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t column = i % kCellColumns, row = i / kCellColumns % kCellRows,
                         channel = i / (kCellColumns * kCellRows) % kChannels,
                         region = i / (kCellColumns * kCellRows * kChannels);
      EXPECT_NEAR(
          y.get(i),
          cell(x, regions, region, (region % kImages) * kChannels + channel, row, column, 0.75, {half_pixel, largest}),
          2e-5)
          << region << " " << row << " " << column;
    }
  }
}

}  // namespace sample_test
}  // namespace whet
