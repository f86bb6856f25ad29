#pragma once

#include "base/result.h"
#include "import/site.h"

/// RoiAlign: a part, see arithmetic.h.
namespace whet {

struct RoiAlign {
  std::int64_t cells[2] = {1, 1};  ///< rows and columns of the result
  std::int64_t samples = 1;        ///< of a cell, in each dimension; 0: as many as it has pixels there
  double scale = 1;                ///< of the corners
  bool half_pixel = true;          ///< pixels are at half numbers, and regions may be smaller than one
  bool largest = false;            ///< of a cell's samples, else their mean
};
/// Images [N, C, H, W], corners of regions [R, 4] (x, y of the first, of the last), and the image of each [R].
struct RoiInputs {
  ValueId x, regions, images;
};
/// The same of rows [R, 5]: the number of an image and two corners.
Result<RoiInputs> regions_of_rows(NodeSite&, ValueId x, ValueId rows);
/// Boxes [R, 4] (y, x of the first corner, of the last, 0 .. 1 from the first to the last pixel) of images [N, H, W, C], each
/// resized to rows and columns: [R, rows, columns, C]. `outside` is what is there where a box leaves the image.
struct CropSize {
  std::int64_t rows = 1, columns = 1;
  double outside = 0;
};
Result<ValueId> cropped_and_resized(NodeSite&, const RoiInputs&, const CropSize&);
/// The largest pixel of each cell, [R, C, rows, columns]: cells share pixels, corners are rounded, and a cell without pixels is 0
/// (`scale` and `cells` alone count).
Result<ValueId> roi_pooled(NodeSite&, const RoiInputs&, const RoiAlign&);
/// [R, C, rows, columns]. Errors: shapes that do not fit; more than 4096 cells or samples in a dimension.
Result<ValueId> roi_aligned(NodeSite&, const RoiInputs&, const RoiAlign&);

}  // namespace whet
