#include "import/fold_shape.h"
#include "import/onnx/importers.h"

// AffineGrid: each point of the grid is the sum of the matrix's columns times the point's coordinates, which are known,
// and of its last column.

namespace whet {
namespace {

/// -1 .. 1 at the centres of `extent` pixels, or from the first to the last; as dimension `d` of `rank`.
Tensor coordinates(DType dtype, std::int64_t extent, bool align, std::size_t d, std::size_t rank) {
  Shape shape(rank, 1);
  shape[d] = extent;
  Tensor places(dtype, shape);
  for (std::int64_t i = 0; i < extent; ++i) {
    const double steps = static_cast<double>(align ? extent - 1 : extent);
    if (steps > 0) places.set(i, static_cast<double>(align ? 2 * i : 2 * i + 1) / steps - 1);
  }
  return places;
}

}  // namespace

Status import_affine_grid(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool align, site.flag("align_corners", false));
  WHET_TRY(const Shape size, site.known_integers(1, "size"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the size", size));
  const std::size_t spatial = size.size() - std::min<std::size_t>(size.size(), 2);
  const auto s = static_cast<std::int64_t>(spatial);
  const DType dtype = site.dtype(0);
  const bool fits = (spatial == 2 || spatial == 3) && site.shape(0) == Shape{size[0], s, s + 1} && is_float(dtype) &&
                    num_elements(size) > 0 && num_elements(size) <= kMaxFoldedElements;
  if (!fits) {
    return site.error("makes a grid for " + to_string(size) + " of " + to_string(site.type(site.in(0))) +
                      "; expected [N, C, H, W] and N matrices of 2 rows and 3 columns, or [N, C, D, H, W] and 3 of 4");
  }
  Shape aligned(spatial + 2, 1);
  aligned.front() = size[0];
  aligned.back() = s;
  const auto column = [&](std::int64_t k) -> Result<ValueId> {
    WHET_TRY(const ValueId one, site.add("column", SliceOperator{{0, 0, k}, {1, 1, 1}, {size[0], s, 1}}, {site.in(0)}));
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
  return site.pass(sum);
}

}  // namespace whet
