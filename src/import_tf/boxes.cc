#include "import/parts/boxes.h"

#include <algorithm>

#include "import/parts/detections.h"
#include "import/parts/non_zero.h"
#include "import/parts/roi_align.h"
#include "import/parts/unique.h"
#include "import_tf/rows.h"

// What is chosen by values: padded, with the number beside it.

namespace whet::tensorflow {
namespace {

/// Rows of places, as many as there are elements that are not 0.
Status where(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId places, counted_non_zero(site, x));
  return site.give(TransposeOperator{{1, 0}}, {places});
}

/// Of a list. `padded`: their number is a result, and an attribute says whether zeros fill them up; so are the `scores` of boxes.
template <bool padded, bool scored>
Status non_max_suppression(NodeSite& site, ValueId corners, ValueId scores, std::int64_t most,
                           std::optional<ValueId> overlap, std::optional<ValueId> score, double sigma, bool to_size,
                           double usual_overlap, bool at_limit) {
  if (sigma != 0) return site.error("has a sigma of " + std::to_string(sigma) + "; only 0 is supported");
  BestBoxes how{.most = most, .score = score, .at_limit = at_limit};
  how.overlap = overlap ? *overlap : site.add_scalar("overlap", site.dtype(scores), usual_overlap);
  const bool lists = site.rank(scores) == 1 && site.shape(scores)[0] > 0;
  if (!to_size && lists) how.most = std::min(most, site.shape(scores)[0]);
  WHET_TRY(const PaddedBoxes boxes, padded_non_max_suppression(site, corners, scores, how));
  WHET_TRY(const ValueId places, site.cast("numbers", boxes.places, DType::i32));
  if (!padded || !to_size) site.set_count(places, 0, boxes.count);
  WHET_RETURN_IF_ERROR(site.give(places, 0));
  if (scored) {
    if (!to_size) site.set_count(boxes.scores, 0, boxes.count);
    WHET_RETURN_IF_ERROR(site.give(boxes.scores, 1));
  }
  return padded ? site.give(site.cast("number", boxes.count, DType::i32), scored ? 2 : 1) : ok_status();
}

/// Boxes [N, n, 1 or classes, 4], scores [N, n, classes], how many of a class and of all, the limits of overlap and score.
Status combined_suppression(NodeSite& site, ValueId boxes, ValueId scores, std::int64_t of_class, std::int64_t total,
                            ValueId overlap, ValueId score, bool per_class, bool clips) {
  if (site.rank(boxes) != 4 || site.rank(scores) != 3 || of_class < 1)
    return site.error("chooses " + std::to_string(of_class) + " among boxes " + to_string(site.type(boxes)) +
                      " by scores " + to_string(site.type(scores)) +
                      "; expected [N, boxes, 1 or classes, 4] and [N, boxes, classes]");
  const BestBoxes how{.most = of_class, .overlap = overlap, .score = score};
  if (per_class) total = std::min(total, std::min(of_class, kMaxElements) * site.shape(scores)[2]);
  WHET_TRY(const ValueId corners, site.add("by_class", TransposeOperator{{0, 2, 1, 3}}, {boxes}));
  WHET_TRY(const ValueId ordered, ordered_corners(site, corners));
  WHET_TRY(scores, site.add("scores", TransposeOperator{{0, 2, 1}}, {scores}));
  WHET_TRY(Detections best, best_detections(site, ordered, scores, how, total, corners));
  if (clips) {
    WHET_TRY(best.boxes, site.add("clipped", ClipOperator{0, 1}, {best.boxes}));
  }
  WHET_RETURN_IF_ERROR(site.give(best.boxes, 0));
  WHET_RETURN_IF_ERROR(site.give(best.scores, 1));
  WHET_RETURN_IF_ERROR(site.give(site.cast("classes", best.classes, site.dtype(best.scores)), 2));
  return site.give(site.cast("number", best.count, DType::i32), 3);
}

Result<ValueId> crop_and_resize(NodeSite& site, ValueId images, ValueId boxes, ValueId image_of_each, const Ints& size,
                                const std::string& method, double outside) {
  if (method == "bilinear" && size.size() == 2)
    return cropped_and_resized(site, {images, boxes, image_of_each}, {size[0], size[1], outside});
  return site.error("has a method of " + method + " and a size of " + std::to_string(size.size()) +
                    " numbers; expected bilinear and two");
}

/// The different elements of a list in the order in which they come, and for each element the place of its value.
Status unique(NodeSite& site, ValueId x, DType dtype) {
  if (site.rank(x) != 1) return site.error("the input is " + to_string(site.type(x)));
  WHET_TRY(const Unique found, unique_elements(site, x, false));
  WHET_RETURN_IF_ERROR(site.give(found.values, 0));
  return site.wants_output(1) ? site.give(site.cast("places", found.inverse, dtype), 1) : ok_status();
}

}  // namespace

TfRows boxes_rows() {
  // How much of two boxes may overlap is an attribute at first, then an operand. TensorFlow Lite has the last word.
  static constexpr std::string_view kSuppression =
      "boxes scores number_of_boxes overlap? score? sigma=0 @pad_to_max_output_size=0 @iou_threshold=0.5 @at_limit=0";
  static constexpr TfRow kRows[] = {
      {"CombinedNonMaxSuppression",
       "boxes scores number_of_boxes_of_a_class number_of_boxes overlap score @pad_per_class=0 @clip_boxes=1",
       calls<combined_suppression>},
      {"CropAndResize", "images boxes image_of_each size @method=bilinear @extrapolation_value=0",
       calls<crop_and_resize>},
      {"NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3", kSuppression,
       calls<non_max_suppression<false, false>>},
      {"NonMaxSuppressionV4", kSuppression, calls<non_max_suppression<true, false>>},
      {"NonMaxSuppressionV5", kSuppression, calls<non_max_suppression<true, true>>},
      {"Unique", "x @out_idx=i32", calls<unique>},
      {"Where", "x", calls<where>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
