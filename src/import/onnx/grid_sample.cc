#include "import/onnx/importers.h"
#include "import/onnx/moved.h"
#include "import/onnx/taps.h"

namespace whet {
namespace {

using B = BinaryKind;

/// -1 .. 1 to the places 0 .. extent-1: the centres of the outer pixels, or their outer edges.
Result<ValueId> pixel_of(OnnxSite& site, ValueId x, double extent, bool align) {
  const auto step = [&](B kind, ValueId a, double b) {
    return site.add("step", BinaryOperator{kind}, {a, site.add_scalar("number", DType::f32, b)});
  };
  WHET_TRY(const ValueId from_0, step(B::add, x, 1));
  if (align) return step(B::mul, from_0, (extent - 1) / 2);
  WHET_TRY(const ValueId scaled, step(B::mul, from_0, extent / 2));
  return step(B::sub, scaled, 0.5);
}

Result<ResizeMode> read_mode(OnnxSite& site) {
  if (site.opset() >= 20) {
    WHET_TRY(const std::size_t mode, site.choice("mode", "linear", {"nearest", "linear", "cubic"}));
    return static_cast<ResizeMode>(mode);
  }
  WHET_TRY(const std::size_t mode, site.choice("mode", "bilinear", {"nearest", "bilinear", "bicubic"}));
  return static_cast<ResizeMode>(mode);
}

}  // namespace

Status import_grid_sample(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ResizeMode mode, read_mode(site));
  WHET_TRY(const std::size_t outside, site.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  WHET_TRY(const bool align, site.flag("align_corners", false));
  const Shape x = site.shape(0), grid = site.shape(1);
  const std::size_t rank = x.size(), spatial = rank - std::min<std::size_t>(rank, 2);
  const bool fits = rank >= 3 && rank <= 5 && grid.size() == rank && grid[0] == x[0] &&
                    grid.back() == static_cast<std::int64_t>(spatial) && is_float(site.dtype(0)) &&
                    is_float(site.dtype(1)) && num_elements(x) > 0 && num_elements(grid) > 0;
  if (!fits) {
    return site.error("samples " + to_string(site.type(site.in(0))) + " at " + to_string(site.type(site.in(1))) +
                      "; expected images [N, C, ...] and a grid [N, ..., " + std::to_string(spatial) + "]");
  }
  const Shape points(grid.begin() + 1, grid.end() - 1);
  WHET_TRY(const Pixels pixels, channels_last_pixels(site, site.in(0)));
  WHET_TRY(const ValueId at, site.cast("grid", site.in(1), DType::f32));
  const Sampling sampling{mode, static_cast<Outside>(outside), align};
  std::vector<std::vector<Tap>> taps;
  for (std::size_t d = 0; d < spatial; ++d) {
    SliceOperator column{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1), grid};
    column.starts.back() = static_cast<std::int64_t>(spatial - 1 - d);  // the last dimension's stands first
    column.shape.back() = 1;
    const double extent = static_cast<double>(pixels.extents[d]);
    WHET_TRY(ValueId place, site.add("column", column, {at}));
    WHET_TRY(place, site.add("places", ReshapeOperator{{x[0], num_elements(points)}}, {place}));
    WHET_TRY(place, pixel_of(site, place, extent, align));
    WHET_TRY(std::vector<Tap> of_dimension, taps_of(site, sampling, place, extent));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(const ValueId sum, gathered(site, pixels, taps));
  Shape last = {x[0]};
  last.insert(last.end(), points.begin(), points.end());
  last.push_back(x[1]);
  WHET_TRY(const ValueId y, site.add("images", ReshapeOperator{last}, {sum}));
  return site.give(moved(rank, rank - 1, 1), {y});
}

}  // namespace whet
