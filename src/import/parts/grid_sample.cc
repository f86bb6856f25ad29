#include "import/parts/grid_sample.h"

#include <algorithm>

#include "import/fold_shape.h"
#include "import/parts/move_axis.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using B = BinaryKind;

/// -1 .. 1 to the places 0 .. extent-1: the centres of the outer pixels, or their outer edges.
Result<ValueId> pixel_of(NodeSite& site, ValueId x, double extent, bool align) {
  const auto step = [&](B kind, ValueId a, double b) {
    return site.add("step", BinaryOperator{kind}, {a, site.add_scalar("number", DType::f32, b)});
  };
  WHET_TRY(const ValueId from_0, step(B::add, x, 1));
  if (align) return step(B::mul, from_0, (extent - 1) / 2);
  WHET_TRY(const ValueId scaled, step(B::mul, from_0, extent / 2));
  return step(B::sub, scaled, 0.5);
}

/// -1 .. 1 at the centres of `extent` pixels, or from the first to the last; as dimension `d` of `rank`.
Tensor coordinates(DType dtype, std::int64_t extent, bool align, std::size_t d, std::size_t rank) {
  Tensor places(dtype, shape_along(d, rank, extent));
  for (std::int64_t i = 0; i < extent; ++i) {
    const double steps = static_cast<double>(align ? extent - 1 : extent);
    if (steps > 0) places.set(i, static_cast<double>(align ? 2 * i : 2 * i + 1) / steps - 1);
  }
  return places;
}

}  // namespace

Result<ValueId> grid_sampled(NodeSite& site, ValueId images, ValueId places, const Sampling& sampling) {
  const Shape x = site.shape(images), grid = site.shape(places);
  const std::size_t rank = x.size(), spatial = rank - std::min<std::size_t>(rank, 2);
  const bool fits = rank >= 3 && rank <= 5 && grid.size() == rank && grid[0] == x[0] &&
                    grid.back() == static_cast<std::int64_t>(spatial) && is_float(site.dtype(images)) &&
                    is_float(site.dtype(places)) && num_elements(x) > 0 && num_elements(grid) > 0;
  if (!fits) {
    return site.error("samples " + to_string(site.type(images)) + " at " + to_string(site.type(places)) +
                      "; expected images [N, C, ...] and a grid [N, ..., " + std::to_string(spatial) + "]");
  }
  const Shape points(grid.begin() + 1, grid.end() - 1);
  WHET_TRY(const Pixels pixels, channels_last_pixels(site, images));
  WHET_TRY(const ValueId at, site.cast("grid", places, DType::f32));
  std::vector<std::vector<Tap>> taps;
  for (std::size_t d = 0; d < spatial; ++d) {
    const auto column = static_cast<std::int64_t>(spatial - 1 - d);  // the last dimension's is first
    const double extent = static_cast<double>(pixels.extents[d]);
    WHET_TRY(ValueId place, columns_of(site, at, column, 1));
    WHET_TRY(place, site.add("places", ReshapeOperator{{x[0], num_elements(points)}}, {place}));
    WHET_TRY(place, pixel_of(site, place, extent, sampling.align));
    WHET_TRY(std::vector<Tap> of_dimension, taps_of(site, sampling, place, extent));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(const ValueId sum, sampled(site, pixels, taps));
  Shape last = {x[0]};
  last.insert(last.end(), points.begin(), points.end());
  last.push_back(x[1]);
  WHET_TRY(const ValueId y, site.add("images", ReshapeOperator{last}, {sum}));
  return site.add("channels_first", move_axis(rank, rank - 1, 1), {y});
}

/// Each point of the grid is the sum of the matrix's columns times the point's coordinates, which are known, and of its
/// last column.
Result<ValueId> affine_grid(NodeSite& site, ValueId matrices, const Shape& size, bool align) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the size", size));
  const std::size_t spatial = size.size() - std::min<std::size_t>(size.size(), 2);
  const auto s = static_cast<std::int64_t>(spatial);
  const DType dtype = site.dtype(matrices);
  const bool fits = (spatial == 2 || spatial == 3) && site.shape(matrices) == Shape{size[0], s, s + 1} &&
                    is_float(dtype) && num_elements(size) > 0 && num_elements(size) <= kMaxFoldedElements;
  if (!fits) {
    return site.error("makes a grid for " + to_string(size) + " of " + to_string(site.type(matrices)) +
                      "; expected [N, C, H, W] and N matrices of 2 rows and 3 columns, or [N, C, D, H, W] and 3 of 4");
  }
  Shape aligned(spatial + 2, 1);
  aligned.front() = size[0];
  aligned.back() = s;
  const auto column = [&](std::int64_t k) -> Result<ValueId> {
    WHET_TRY(const ValueId one, columns_of(site, matrices, k, 1));
    return site.add("aligned", ReshapeOperator{aligned}, {one});
  };
  WHET_TRY(ValueId sum, column(s));
  for (std::int64_t k = 0; k < s; ++k) {  // the first coordinate is that of the last dimension
    const std::size_t d = spatial - static_cast<std::size_t>(k);
    WHET_TRY(const ValueId factor, column(k));
    const ValueId places = site.add_constant("places", coordinates(dtype, size[d + 1], align, d, spatial + 2));
    WHET_TRY(const ValueId term, site.add("term", BinaryOperator{BinaryKind::mul}, {factor, places}));
    WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, term}));
  }
  return sum;
}

}  // namespace whet
