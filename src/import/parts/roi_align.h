#pragma once

#include "base/result.h"
#include "import/site.h"

/// RoiAlign: a part, see arithmetic.h.
namespace whet {

struct RoiAlign {
  std::int64_t cells[2] = {1, 1};  ///< rows and columns of the result
  std::int64_t samples = 1;        ///< of a cell, in each dimension
  double scale = 1;                ///< of the corners
  bool half_pixel = true;          ///< pixels are at half numbers, and regions may be smaller than one
  bool largest = false;            ///< of a cell's samples, else their mean
};
/// Images [N, C, H, W], corners of regions [R, 4] (x, y of the first, of the last), and the image of each [R].
struct RoiInputs {
  ValueId x, regions, images;
};
/// [R, C, rows, columns]. Errors: shapes that do not fit; more than 4096 cells or samples in a dimension.
Result<ValueId> roi_aligned(NodeSite&, const RoiInputs&, const RoiAlign&);

}  // namespace whet
