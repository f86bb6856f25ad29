#include "import/parts/boxes.h"

#include <algorithm>

#include "import/parts/non_zero.h"
#include "import/tensorflow/importers.h"

// What is chosen by values: padded, with the number beside it.

namespace whet::tensorflow {

/// Rows of places, as many as there are elements that are not 0.
Status import_where(TfSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId places, counted_non_zero(site, site.in(0)));
  return site.give(TransposeOperator{{1, 0}}, {places});
}

/// Boxes, scores, the number of boxes; how much of two may overlap is an attribute at first, then an input, and the least score
/// comes behind it.
Status import_non_max_suppression(TfSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 6));
  const bool padded = site.op() == "NonMaxSuppressionV4" || site.op() == "NonMaxSuppressionV5";
  const bool scores = site.op() == "NonMaxSuppressionV5";
  BestBoxes how;
  WHET_TRY(how.most, site.integer(2, "number of boxes"));
  if (site.input_count() > 3) {
    how.overlap = site.in(3);
  } else {
    WHET_TRY(const double overlap, site.number("iou_threshold", 0.5));
    how.overlap = site.add_scalar("overlap", site.dtype(site.in(1)), overlap);
  }
  if (site.input_count() > 4) how.score = site.in(4);
  if (site.input_count() > 5) {
    WHET_TRY(const double sigma, site.known_number(site.in(5), "sigma"));
    if (sigma != 0) return site.error("has a sigma of " + std::to_string(sigma) + "; only 0 is supported");
  }
  WHET_TRY(const bool to_size, site.flag("pad_to_max_output_size", false));
  const bool lists = site.rank(site.in(1)) == 1 && site.shape(site.in(1))[0] > 0;
  if (!to_size && lists) how.most = std::min(how.most, site.shape(site.in(1))[0]);
  WHET_TRY(const PaddedBoxes boxes, padded_best_boxes(site, site.in(0), site.in(1), how));
  WHET_TRY(const ValueId places, site.cast("numbers", boxes.places, DType::i32));
  if (!padded || !to_size) site.set_count(places, 0, boxes.count);
  WHET_RETURN_IF_ERROR(site.give(places, 0));
  if (scores) {
    if (!to_size) site.set_count(boxes.scores, 0, boxes.count);
    WHET_RETURN_IF_ERROR(site.give(boxes.scores, 1));
  }
  return padded ? site.give(site.cast("number", boxes.count, DType::i32), scores ? 2 : 1) : ok_status();
}

}  // namespace whet::tensorflow
