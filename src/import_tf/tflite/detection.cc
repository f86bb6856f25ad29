#include <algorithm>
#include <array>

#include "import/parts/detections.h"
#include "import/parts/shape.h"
#include "import_tf/tflite/rows.h"

// TFLite_Detection_PostProcess, the last step of the SSD networks of TensorFlow's detection API.

namespace whet::tflite {
namespace {

using B = BinaryKind;

/// Its options.
struct PostProcess {
  std::int64_t most = 0;             ///< detections
  std::int64_t classes_of_each = 0;  ///< of one box; the fast form alone
  std::int64_t most_of_class = 100;  ///< the regular form alone
  bool regular = false;              ///< suppression for each class
  double score = 0, overlap = 0;
  std::int64_t classes = 0;                     ///< without the background
  std::array<double, 4> scales = {1, 1, 1, 1};  ///< y, x, h, w
};

Result<PostProcess> read_post_process(const TfliteSite& site) {
  WHET_TRY(const FlexMap options, custom_map(site));
  PostProcess p;
  constexpr std::int64_t kMost = 4096, kMostClasses = 1 << 20;
  WHET_TRY(p.most, custom_integer(site, options, "max_detections", 1, kMost));
  WHET_TRY(p.classes_of_each, custom_integer(site, options, "max_classes_per_detection", 1, kMost));
  WHET_TRY(p.classes, custom_integer(site, options, "num_classes", 1, kMostClasses));
  if (options.has("detections_per_class")) {
    WHET_TRY(p.most_of_class, custom_integer(site, options, "detections_per_class", 1, kMost));
  }
  p.regular = options.number("use_regular_nms").value_or(0) != 0;
  WHET_TRY(p.score, custom_number(site, options, "nms_score_threshold"));
  WHET_TRY(p.overlap, custom_number(site, options, "nms_iou_threshold"));
  if (!(p.overlap > 0 && p.overlap <= 1))
    return site.error("its option \"nms_iou_threshold\" is " + std::to_string(p.overlap) +
                      "; expected more than 0 and at most 1");
  constexpr std::array<const char*, 4> kScales = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (std::size_t k = 0; k < kScales.size(); ++k) {
    WHET_TRY(p.scales[k], custom_number(site, options, kScales[k]));
    if (p.scales[k] == 0) return site.error(std::string("has a ") + kScales[k] + " of 0");
  }
  return p;
}

/// Corners [1, n, 4] of encodings [1, n, 4 or more]: centres and sizes relative to those of the anchors [n, 4].
Result<ValueId> decoded(NodeSite& site, ValueId encodings, ValueId anchors, const PostProcess& p) {
  const Shape e = site.shape(encodings), a = site.shape(anchors);
  if (e.size() != 3 || e[0] != 1 || e[2] < 4 || a != Shape{e[1], 4})
    return site.error("decodes boxes " + to_string(site.type(encodings)) + " by anchors " +
                      to_string(site.type(anchors)) + "; expected [1, boxes, 4] and [boxes, 4]");
  WHET_TRY(const ValueId all, site.add("anchors", ReshapeOperator{{1, a[0], 4}}, {anchors}));
  std::vector<double> factors;
  for (const double scale : p.scales) factors.push_back(1 / scale);
  const ValueId scales = site.add_constant("scales", Tensor::of(DType::f32, {1, 1, 4}, factors));
  WHET_TRY(ValueId moves, columns_of(site, encodings, 0, 4));
  WHET_TRY(moves, site.add("moves", BinaryOperator{B::mul}, {moves, scales}));
  return corners_of_moved(site, all, moves);
}

/// Scores [1, n, classes], without that of the background, which is the first.
Result<ValueId> scores_of(NodeSite& site, ValueId scores, ValueId corners, const PostProcess& p) {
  const Shape s = site.shape(scores);
  const bool fits =
      s.size() == 3 && s[0] == 1 && s[1] == site.shape(corners)[1] && (s[2] == p.classes || s[2] == p.classes + 1);
  if (!fits)
    return site.error("has scores " + to_string(site.type(scores)) + " of " + std::to_string(site.shape(corners)[1]) +
                      " boxes and " + std::to_string(p.classes) + " classes");
  return sliced(site, scores, {s[2] - p.classes}, {s[2]}, std::vector<std::int64_t>{2}, {1});
}

/// Suppression of each class alone, then the best of all. The results have as many rows as in the fast form.
Status give_regular(NodeSite& site, ValueId corners, ValueId scores, BestBoxes how, const PostProcess& p) {
  how.most = p.most_of_class;
  const std::int64_t n = site.shape(corners)[1];
  WHET_TRY(corners, site.add("for_all_classes", ReshapeOperator{{1, 1, n, 4}}, {corners}));
  WHET_TRY(scores, site.add("by_class", TransposeOperator{{0, 2, 1}}, {scores}));
  WHET_TRY(const Detections best, best_detections(site, corners, scores, how, p.most));
  const auto all_rows = [&](ValueId x) {
    return padded(site, x, {0, (p.classes_of_each - 1) * p.most}, {1}, PadMode::constant, 0);
  };
  WHET_RETURN_IF_ERROR(site.give(all_rows(best.boxes), 0));
  WHET_TRY(const ValueId classes, site.cast("class_numbers", best.classes, DType::f32));
  WHET_RETURN_IF_ERROR(site.give(all_rows(classes), 1));
  WHET_RETURN_IF_ERROR(site.give(all_rows(best.scores), 2));
  return site.give(site.cast("number", best.count, DType::f32), 3);
}

/// Suppression by the best class of each box, which is then listed with its best classes.
Status give_fast(NodeSite& site, ValueId corners, ValueId scores, BestBoxes how, const PostProcess& p) {
  const std::int64_t n = site.shape(corners)[1], each = std::min(p.classes_of_each, p.classes);
  how.most = std::min(p.most, n);
  WHET_TRY(ValueId top, site.add("top", ReduceOperator{ReduceKind::max, {2}, false}, {scores}));
  WHET_TRY(top, site.add("top_scores", ReshapeOperator{{1, 1, n}}, {top}));
  WHET_TRY(const ValueId anchors_scores, site.add("score_rows", ReshapeOperator{{n, p.classes}}, {scores}));
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, corners, top, how));
  WHET_TRY(const ValueId places, site.add("places", ReshapeOperator{{how.most}}, {chosen.places}));
  WHET_TRY(const ValueId there, site.add("there", ReshapeOperator{{1, how.most}}, {chosen.exists}));
  WHET_TRY(const ValueId rows, site.add("rows", GatherOperator{0}, {anchors_scores, places}));
  WHET_TRY(const ValueId classes, site.add("classes", TopKOperator{1, each}, {rows}));
  WHET_TRY(const ValueId best, site.add("best", GatherElementsOperator{1}, {rows, classes}));
  WHET_TRY(const ValueId table, site.add("table", ReshapeOperator{{n, 4}}, {corners}));
  WHET_TRY(const ValueId boxes, site.add("boxes", GatherOperator{0}, {table, places}));
  // A box is repeated for each of its classes. Zeros fill up where the model has fewer classes than are asked for.
  const auto listed = [&](ValueId x, std::int64_t width, bool repeated) -> Result<ValueId> {
    const std::int64_t copies = repeated ? p.classes_of_each : 1, missing = repeated ? 0 : p.classes_of_each - each;
    WHET_TRY(x, site.add("apart", ReshapeOperator{{1, how.most, width}}, {x}));
    WHET_TRY(x, filled_up(site, x, there, p.most));
    WHET_TRY(x, padded(site, x, {0, missing}, {2}, PadMode::constant, 0));
    if (!repeated) return site.add("listed", ReshapeOperator{{1, p.most * p.classes_of_each}}, {x});
    WHET_TRY(x, tiled(site, x, {1, 1, copies}));
    return site.add("listed", ReshapeOperator{{1, p.most * copies, width}}, {x});
  };
  WHET_RETURN_IF_ERROR(site.give(listed(boxes, 4, true), 0));
  WHET_TRY(const ValueId numbers, site.cast("class_numbers", classes, DType::f32));
  WHET_RETURN_IF_ERROR(site.give(listed(numbers, each, false), 1));
  WHET_RETURN_IF_ERROR(site.give(listed(best, each, false), 2));
  WHET_TRY(const ValueId ones, site.cast("ones", there, DType::f32));
  return site.give(site.add("number", ReduceOperator{ReduceKind::sum, {1}, false}, {ones}), 3);
}

/// Encoded boxes, scores of their classes, anchors; gives boxes, classes, scores, and how many there are.
Status detected(TfliteSite& site, ValueId encodings, ValueId all_scores, ValueId anchors) {
  WHET_TRY(const PostProcess p, read_post_process(site));
  WHET_TRY(const ValueId corners, decoded(site, encodings, anchors, p));
  WHET_TRY(const ValueId scores, scores_of(site, all_scores, corners, p));
  BestBoxes how{.keeps_least = true};
  how.overlap = site.add_scalar("overlap", DType::f32, p.overlap);
  how.score = site.add_scalar("least", DType::f32, p.score);
  return p.regular ? give_regular(site, corners, scores, how, p) : give_fast(site, corners, scores, how, p);
}

}  // namespace

TfliteRows detection_rows() {
  static constexpr std::string_view kPadded = "pad_to_max_output_size=true at_limit=true";
  static constexpr TfliteRow kRows[] = {
      {"NON_MAX_SUPPRESSION_V4", as_plain, "NonMaxSuppressionV4", kPadded},
      {"NON_MAX_SUPPRESSION_V5", as_plain, "NonMaxSuppressionV5", kPadded},
      {"TFLite_Detection_PostProcess", as_real, "encodings scores anchors", calls<detected>},
  };
  return kRows;
}

}  // namespace whet::tflite
