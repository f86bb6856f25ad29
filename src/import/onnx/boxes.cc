#include "import/parts/boxes.h"

#include <algorithm>

#include "import/onnx/importers.h"

namespace whet {

/// The maximum of a class is the file's; that of all is as many times the images and classes.
Status import_non_max_suppression(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 5));
  WHET_TRY(const bool centres, site.flag("center_point_box", false));
  std::int64_t most = 0;
  if (site.has(2)) {
    WHET_TRY(most, site.known_integer(2, "number of boxes of a class"));
  }
  const bool lists = site.rank(0) == 3 && site.rank(1) == 3 && site.shape(0)[2] == 4;
  if (!lists) {
    return site.error("chooses among boxes " + to_string(site.type(site.in(0))) + " by scores " +
                      to_string(site.type(site.in(1))) + "; expected [N, boxes, 4] and [N, classes, boxes]");
  }
  if (most <= 0 || num_elements(site.shape(1)) == 0) return site.give_constant(Tensor(DType::i64, {0, 3}));
  const BestBoxes how{std::min(most, site.shape(1)[2]), site.if_given(3), site.if_given(4)};
  WHET_TRY(const ValueId corners, centres ? corners_of_centres(site, site.in(0)) : ordered_corners(site, site.in(0)));
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, corners, site.in(1), how));
  return site.give(rows_of_boxes(site, chosen));
}

}  // namespace whet
