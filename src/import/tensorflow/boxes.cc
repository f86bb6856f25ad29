#include "import/parts/boxes.h"

#include <algorithm>

#include "import/parts/detections.h"
#include "import/parts/non_zero.h"
#include "import/parts/roi_align.h"
#include "import/parts/unique.h"
#include "import/tensorflow/rows.h"

// What is chosen by values: padded, with the number beside it.

namespace whet::tensorflow {
namespace {

/// Rows of places, as many as there are elements that are not 0.
Status import_where(TfSite& site) {
  WHET_TRY(const ValueId places, counted_non_zero(site, site.in(0)));
  return site.give(TransposeOperator{{1, 0}}, {places});
}

/// Boxes, scores, the number of boxes; how much of two may overlap is an attribute at first, then an input, and the least score
/// comes behind it.
Status import_non_max_suppression(TfSite& site) {
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
  WHET_TRY(const PaddedBoxes boxes, padded_non_max_suppression(site, site.in(0), site.in(1), how));
  WHET_TRY(const ValueId places, site.cast("numbers", boxes.places, DType::i32));
  if (!padded || !to_size) site.set_count(places, 0, boxes.count);
  WHET_RETURN_IF_ERROR(site.give(places, 0));
  if (scores) {
    if (!to_size) site.set_count(boxes.scores, 0, boxes.count);
    WHET_RETURN_IF_ERROR(site.give(boxes.scores, 1));
  }
  return padded ? site.give(site.cast("number", boxes.count, DType::i32), scores ? 2 : 1) : ok_status();
}

/// Boxes [N, n, 1 or classes, 4], scores [N, n, classes], how many of a class and of all, the limits of overlap and score.
Status import_combined_suppression(TfSite& site) {
  WHET_TRY(const bool per_class, site.flag("pad_per_class", false));
  WHET_TRY(const bool clip, site.flag("clip_boxes", true));
  BestBoxes how{.overlap = site.in(4), .score = site.in(5)};
  WHET_TRY(how.most, site.integer(2, "number of boxes of a class"));
  WHET_TRY(std::int64_t total, site.integer(3, "number of boxes"));
  if (site.rank(site.in(0)) != 4 || site.rank(site.in(1)) != 3 || how.most < 1)
    return site.error("chooses " + std::to_string(how.most) + " among boxes " + to_string(site.type(site.in(0))) +
                      " by scores " + to_string(site.type(site.in(1))) +
                      "; expected [N, boxes, 1 or classes, 4] and [N, boxes, classes]");
  const std::int64_t classes = site.shape(site.in(1))[2];
  if (per_class) total = std::min(total, std::min(how.most, kMaxElements) * classes);
  WHET_TRY(const ValueId corners, site.add("by_class", TransposeOperator{{0, 2, 1, 3}}, {site.in(0)}));
  WHET_TRY(const ValueId ordered, ordered_corners(site, corners));
  WHET_TRY(const ValueId scores, site.add("scores", TransposeOperator{{0, 2, 1}}, {site.in(1)}));
  WHET_TRY(const Detections best, best_detections(site, ordered, scores, how, total, corners));
  WHET_TRY(const ValueId boxes,
           clip ? site.add("clipped", ClipOperator{0, 1}, {best.boxes}) : Result<ValueId>(best.boxes));
  WHET_RETURN_IF_ERROR(site.give(boxes, 0));
  WHET_RETURN_IF_ERROR(site.give(best.scores, 1));
  WHET_RETURN_IF_ERROR(site.give(site.cast("classes", best.classes, site.dtype(best.scores)), 2));
  return site.give(site.cast("number", best.count, DType::i32), 3);
}

/// Images, boxes, the image of each, and the size that all get.
Status import_crop_and_resize(TfSite& site) {
  WHET_TRY(const std::vector<std::int64_t> size, site.integers(3, "size"));
  WHET_TRY(const std::string method, site.text("method", "bilinear"));
  if (method != "bilinear" || size.size() != 2)
    return site.error("has a method of " + method + " and a size of " + std::to_string(size.size()) +
                      " numbers; expected bilinear and two");
  CropSize crop{size[0], size[1]};
  WHET_TRY(crop.outside, site.number("extrapolation_value", 0));
  return site.give(cropped_and_resized(site, {site.in(0), site.in(1), site.in(2)}, crop));
}

/// The different elements of a list in the order in which they come, and for each element the place of its value.
Status import_unique(TfSite& site) {
  WHET_TRY(const DType dtype, site.dtype_attribute("out_idx", {3}));
  if (site.rank(site.in(0)) != 1) return site.error("the input is " + to_string(site.type(site.in(0))));
  WHET_TRY(const Unique found, unique_elements(site, site.in(0), false));
  WHET_RETURN_IF_ERROR(site.give(found.values, 0));
  return site.wants_output(1) ? site.give(site.cast("places", found.inverse, dtype), 1) : ok_status();
}

}  // namespace

TfRows boxes_rows() {
  static constexpr TfRow kRows[] = {
      {"CombinedNonMaxSuppression", 6, import_combined_suppression},
      {"CropAndResize", 4, import_crop_and_resize},
      {"NonMaxSuppression", {3, 6}, import_non_max_suppression},
      {"NonMaxSuppressionV2", {3, 6}, import_non_max_suppression},
      {"NonMaxSuppressionV3", {3, 6}, import_non_max_suppression},
      {"NonMaxSuppressionV4", {3, 6}, import_non_max_suppression},
      {"NonMaxSuppressionV5", {3, 6}, import_non_max_suppression},
      {"Unique", 1, import_unique},
      {"Where", 1, import_where},
  };
  return kRows;
}

}  // namespace whet::tensorflow
