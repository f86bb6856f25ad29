#include "import/parts/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/parts/arithmetic.h"
#include "import/parts/detections.h"
#include "import/parts/roi_align.h"
#include "import/parts/shape.h"
#include "import_mxnet/rows.h"

// Boxes of detectors. Suppressed ones are rows of -1, so that all results have fixed sizes.

namespace whet::mxnet {
namespace {

using B = BinaryKind;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// One column of rows [N, n, W] as [N, n].
Result<ValueId> list_of_column(NodeSite& site, ValueId rows, std::int64_t k) {
  const Shape shape = site.shape(rows);
  WHET_TRY(const ValueId column, columns_of(site, rows, k, 1));
  return site.add("list", ReshapeOperator{{shape[0], shape[1]}}, {column});
}
/// Rows [N, n, W] at `places` [N, k].
Result<ValueId> rows_in_order(NodeSite& site, ValueId rows, ValueId places) {
  Shape column = site.shape(places);
  column.push_back(1);
  WHET_TRY(const ValueId index, site.add("index", ReshapeOperator{column}, {places}));
  return site.add("ordered", GatherNdOperator{1}, {rows, index});
}
/// Rows where `left` holds, -1 elsewhere and behind them, up to `total`.
Result<ValueId> rows_or_none(NodeSite& site, ValueId rows, ValueId left, std::int64_t total) {
  const Shape shape = site.shape(rows);
  WHET_TRY(const ValueId mask, site.add("mask", ReshapeOperator{{shape[0], shape[1], 1}}, {left}));
  const ValueId none = site.add_scalar("none", site.dtype(rows), -1);
  WHET_TRY(const ValueId kept, site.add("kept", WhereOperator{}, {mask, rows, none}));
  return padded(site, kept, {0, total - shape[1]}, {1}, PadMode::constant, -1);
}
/// The best of rows that exist, in order: their rows, and whether each exists.
struct Ordered {
  ValueId rows, exists;
};
Result<Ordered> best_rows(NodeSite& site, ValueId rows, ValueId scores, ValueId exists, std::int64_t most) {
  const ValueId never = site.add_scalar("never", site.dtype(scores), kNever);
  WHET_TRY(const ValueId candidates, site.add("candidates", WhereOperator{}, {exists, scores, never}));
  WHET_TRY(const ValueId places, site.add("best", TopKOperator{1, most}, {candidates}));
  WHET_TRY(const ValueId best, site.add("best_scores", GatherElementsOperator{1}, {candidates, places}));
  Ordered ordered;
  WHET_TRY(ordered.rows, rows_in_order(site, rows, places));
  WHET_TRY(ordered.exists, site.add("exists", BinaryOperator{B::greater}, {best, never}));
  return ordered;
}

/// Corners as centres and sizes.
Result<ValueId> centres_of_corners(NodeSite& site, ValueId corners) {
  WHET_TRY(const ValueId low, columns_of(site, corners, 0, 2));
  WHET_TRY(const ValueId high, columns_of(site, corners, 2, 2));
  WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{B::add}, {low, high}));
  WHET_TRY(const ValueId centre, with_number(site, "centre", B::mul, sum, 0.5));
  WHET_TRY(const ValueId size, site.add("size", BinaryOperator{B::sub}, {high, low}));
  return site.add("boxes", ConcatOperator{static_cast<std::int64_t>(site.rank(corners)) - 1}, {centre, size});
}

enum class BoxForm : std::uint8_t { corner, center };
/// The columns of the boxes in another form. MXNet leaves those as they are that begin below 0.
Result<ValueId> with_form(NodeSite& site, ValueId rows, std::int64_t column, BoxForm wanted) {
  const std::int64_t width = site.shape(rows)[2], behind = column + 4;
  WHET_TRY(ValueId boxes, columns_of(site, rows, column, 4));
  WHET_TRY(const ValueId first, columns_of(site, boxes, 0, 1));
  WHET_TRY(const ValueId is_below, with_number(site, "below", B::less, first, 0));
  WHET_TRY(const ValueId other,
           wanted == BoxForm::corner ? corners_of_centres(site, boxes) : centres_of_corners(site, boxes));
  WHET_TRY(boxes, site.add("other_form", WhereOperator{}, {is_below, boxes, other}));
  ValueIds parts;
  if (column > 0) {
    WHET_TRY(parts.emplace_back(), columns_of(site, rows, 0, column));
  }
  parts.push_back(boxes);
  if (behind < width) {
    WHET_TRY(parts.emplace_back(), columns_of(site, rows, behind, width - behind));
  }
  return parts.size() == 1 ? boxes : site.add("formed", ConcatOperator{2}, parts);
}

/// Classes as whole numbers.
Result<ValueId> labels_of(NodeSite& site, ValueId rows, std::int64_t column) {
  WHET_TRY(const ValueId list, list_of_column(site, rows, column));
  return site.cast("classes", list, DType::i32);
}

/// Rows of scores, boxes and classes: those that are left, the best first.
Status import_box_nms(NodeSite& site, ValueId given, std::int64_t most, std::int64_t first, std::int64_t score,
                      std::int64_t label, std::int64_t background, double overlap, double least, bool force,
                      BoxForm form, BoxForm wanted) {
  const Shape shape = site.shape(given);
  if (shape.size() < 2 || num_elements(shape) == 0 || !is_float(site.dtype(given)))
    return site.error("the input is " + to_string(site.type(given)) + "; expected rows of boxes");
  const std::int64_t width = shape.back(), n = shape[shape.size() - 2], images = num_elements(shape) / width / n;
  if (first < 0 || first > width - 4 || score < 0 || score >= width || label >= width)
    return site.error("has boxes in columns from " + std::to_string(first) + ", scores in " + std::to_string(score) +
                      " and classes in " + std::to_string(label) + " of " + std::to_string(width));
  if (most == 0) return site.pass(given);
  most = most < 0 ? n : std::min(most, n);
  WHET_TRY(const ValueId x, site.add("rows", ReshapeOperator{{images, n, width}}, {given}));
  WHET_TRY(const ValueId scores, list_of_column(site, x, score));
  WHET_TRY(ValueId exists, with_number(site, "valid", B::greater, scores, least));
  if (label >= 0 && background >= 0) {
    WHET_TRY(const ValueId labels, labels_of(site, x, label));
    WHET_TRY(ValueId other, with_number(site, "background", B::equal, labels, static_cast<double>(background)));
    WHET_TRY(other, site.add("other", UnaryOperator{UnaryKind::logical_not}, {other}));
    WHET_TRY(exists, site.add("valid", BinaryOperator{B::logical_and}, {exists, other}));
  }
  WHET_TRY(const Ordered best, best_rows(site, x, scores, exists, most));
  WHET_TRY(ValueId corners, columns_of(site, best.rows, first, 4));
  WHET_TRY(corners, form == BoxForm::center ? corners_of_centres(site, corners) : corners);
  OrderedBoxes boxes{corners, best.exists, site.add_scalar("overlap", site.dtype(corners), overlap)};
  if (label >= 0 && !force) {
    WHET_TRY(boxes.labels, labels_of(site, best.rows, label));
  }
  WHET_TRY(const ValueId left, left_in_order(site, boxes));
  // Those that are left are beside each other.
  WHET_TRY(const ValueId numbers, site.cast("left_numbers", left, DType::f32));
  WHET_TRY(const ValueId formed, form == wanted ? best.rows : with_form(site, best.rows, first, wanted));
  WHET_TRY(const Ordered packed, best_rows(site, formed, numbers, left, most));
  WHET_TRY(const ValueId y, rows_or_none(site, packed.rows, packed.exists, n));
  return site.give(ReshapeOperator{shape}, {y});
}

/// Boxes of several sizes and shapes around each pixel of an image [N, C, H, W], in parts of the image.
Status import_multi_box_prior(NodeSite& site, ValueId image, const Numbers& sizes, const Numbers& ratios,
                              const Numbers& steps, const Numbers& offsets, bool clip) {
  const Shape shape = site.shape(image);
  const bool fits = shape.size() == 4 && num_elements(shape) > 0 && steps.size() == 2 && offsets.size() == 2 &&
                    std::all_of(offsets.begin(), offsets.end(), [](double o) { return o >= 0 && o <= 1; }) &&
                    std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 0; });
  const std::int64_t each = static_cast<std::int64_t>(sizes.size() + ratios.size()) - 1;
  constexpr std::int64_t kMostNumbers = 1 << 24;
  if (!fits || shape[2] * shape[3] > kMostNumbers / 4 / each)
    return site.error("makes boxes of " + std::to_string(sizes.size()) + " sizes and " + std::to_string(ratios.size()) +
                      " ratios for " + to_string(site.type(image)) +
                      "; expected an image, two steps, and two offsets of 0 to 1");
  const auto height = static_cast<float>(shape[2]), width = static_cast<float>(shape[3]);
  const bool has_steps = steps[0] > 0 && steps[1] > 0;
  Tensor boxes(DType::f32, {1, shape[2] * shape[3] * each, 4});
  std::int64_t at = 0;
  const auto put = [&](float value) {
    boxes.set(at++, static_cast<double>(clip ? std::clamp(value, 0.0F, 1.0F) : value));
  };
  for (std::int64_t r = 0; r < shape[2]; ++r)
    for (std::int64_t c = 0; c < shape[3]; ++c)
      for (std::int64_t k = 0; k < each; ++k) {
        const auto i = static_cast<std::size_t>(k);
        const float size = static_cast<float>(sizes[i < sizes.size() ? i : 0]);
        const float root = std::sqrt(static_cast<float>(ratios[i < sizes.size() ? 0 : i - sizes.size() + 1]));
        const float step_y = has_steps ? static_cast<float>(steps[0]) : 1 / height;
        const float step_x = has_steps ? static_cast<float>(steps[1]) : 1 / width;
        const float y = (static_cast<float>(r) + static_cast<float>(offsets[0])) * step_y;
        const float x = (static_cast<float>(c) + static_cast<float>(offsets[1])) * step_x;
        const float w = size * height / width * root / 2, h = size / root / 2;
        put(x - w), put(y - h), put(x + w), put(y + h);
      }
  return site.give_constant(boxes);
}

/// Scores [N, 1 + classes, n], moves [N, n * 4], boxes [1, n, 4]: rows of class, score and corners, the best first.
Result<ValueId> import_multi_box_detection(NodeSite& site, ValueId given_scores, ValueId given_moves,
                                           ValueId given_boxes, double overlap, double least, bool clip, bool force,
                                           std::int64_t top, const Numbers& variances) {
  const Shape s = site.shape(given_scores);
  if (s.size() != 3 || num_elements(s) == 0 || s[1] < 2 || num_elements(site.shape(given_moves)) != s[0] * s[2] * 4 ||
      num_elements(site.shape(given_boxes)) != s[2] * 4)
    return site.error("detects in scores " + to_string(site.type(given_scores)) + ", moves " +
                      to_string(site.type(given_moves)) + " and boxes " + to_string(site.type(given_boxes)) +
                      "; expected [N, classes, n], [N, n * 4] and [1, n, 4]");
  const std::int64_t images = s[0], classes = s[1] - 1, n = s[2];
  if (variances.size() != 4 || !(overlap > 0 && overlap <= 1))
    return site.error("has " + std::to_string(variances.size()) + " variances and a threshold of overlap of " +
                      std::to_string(overlap) + "; expected four, and more than 0 to 1");
  // The best class of each box.
  WHET_TRY(const ValueId scores, sliced(site, given_scores, {1}, {s[1]}, Ints{1}, {1}));
  WHET_TRY(const ValueId label, site.add("class", ArgReduceOperator{true, 1, true, false}, {scores}));
  WHET_TRY(const ValueId score, site.add("score", ReduceOperator{ReduceKind::max, {1}, false}, {scores}));
  WHET_TRY(const ValueId exists, with_number(site, "valid", B::greater_equal, score, least));
  WHET_TRY(ValueId number, site.cast("class_number", label, site.dtype(score)));
  WHET_TRY(number, site.add("class_column", ReshapeOperator{{images, n, 1}}, {number}));
  WHET_TRY(const ValueId score_column, site.add("score_column", ReshapeOperator{{images, n, 1}}, {score}));
  // The boxes, moved.
  WHET_TRY(const ValueId anchors, site.add("anchors", ReshapeOperator{{1, n, 4}}, {given_boxes}));
  WHET_TRY(const ValueId moves, site.add("moves", ReshapeOperator{{images, n, 4}}, {given_moves}));
  WHET_TRY(const ValueId around, centres_of_corners(site, anchors));
  const ValueId factors = site.add_constant("variances", Tensor::of(site.dtype(moves), {1, 1, 4}, variances));
  WHET_TRY(const ValueId weighted, site.add("weighted", BinaryOperator{B::mul}, {moves, factors}));
  WHET_TRY(ValueId corners, corners_of_moved(site, around, weighted));
  WHET_TRY(corners, clip ? site.add("clipped", ClipOperator{0, 1}, {corners}) : corners);
  WHET_TRY(const ValueId rows, site.add("rows", ConcatOperator{2}, {number, score_column, corners}));
  WHET_TRY(const Ordered best, best_rows(site, rows, score, exists, top > 0 ? std::min(top, n) : n));
  OrderedBoxes ordered{{}, best.exists, site.add_scalar("overlap", site.dtype(rows), overlap)};
  WHET_TRY(ordered.corners, columns_of(site, best.rows, 2, 4));
  if (!force && classes > 1) {
    WHET_TRY(ordered.labels, labels_of(site, best.rows, 0));
  }
  ordered.at_limit = true;
  WHET_TRY(const ValueId left, left_in_order(site, ordered));
  // One that is hidden stays in its place, without a class.
  WHET_TRY(const ValueId class_left, columns_of(site, best.rows, 0, 1));
  WHET_TRY(const ValueId own, rows_or_none(site, class_left, left, site.shape(left)[1]));
  WHET_TRY(const ValueId rest, columns_of(site, best.rows, 1, 5));
  WHET_TRY(const ValueId y, site.add("marked", ConcatOperator{2}, {own, rest}));
  return rows_or_none(site, y, best.exists, n);
}

Result<RoiAlign> read_cells(MxSite& site, double scale) {
  WHET_TRY(const Ints cells, site.entries("pooled_size", 2, 1, 1));
  return RoiAlign{.cells = {cells[0], cells[1]}, .scale = scale};
}

Result<ValueId> import_roi_pooling(MxSite& site, ValueId x, ValueId rows, double scale) {
  WHET_TRY(const RoiInputs in, regions_of_rows(site, x, rows));
  WHET_TRY(const RoiAlign plan, read_cells(site, scale));
  return roi_pooled(site, in, plan);
}
Result<ValueId> import_roi_align(MxSite& site, ValueId x, ValueId rows, double scale, std::int64_t samples,
                                 bool half_pixel, bool by_places) {
  WHET_TRY(const RoiInputs in, regions_of_rows(site, x, rows));
  WHET_TRY(RoiAlign plan, read_cells(site, scale));
  if (by_places) return site.error("chooses channels by their places, which is not supported");
  plan.samples = std::max<std::int64_t>(samples, 0);
  plan.half_pixel = half_pixel;
  return roi_aligned(site, in, plan);
}

}  // namespace

MxRows boxes_rows() {
  static constexpr MxRow kRows[] = {
      {"ROIPooling", "x regions @spatial_scale=1 @pooled_size", calls<import_roi_pooling>},
      {"_contrib_MultiBoxDetection",
       "scores moves boxes @nms_threshold=0.5 @threshold=0.01 @clip=1 @force_suppress=0 @nms_topk=-1 "
       "@variances=0.1,0.1,0.2,0.2",
       calls<import_multi_box_detection>},
      {"_contrib_MultiBoxPrior", "image @sizes=1 @ratios=1 @steps=-1,-1 @offsets=0.5,0.5 @clip=0",
       calls<import_multi_box_prior>},
      {"_contrib_ROIAlign", "x regions @spatial_scale=1 @sample_ratio=-1 @aligned=0 @position_sensitive=0 @pooled_size",
       calls<import_roi_align>},
      {"_contrib_box_nms _contrib_box_non_maximum_suppression",
       "rows @topk=-1 @coord_start=2 @score_index=1 @id_index=-1 @background_id=-1 @overlap_thresh=0.5 @valid_thresh=0 "
       "@force_suppress=0 @in_format:corner|center=corner @out_format:corner|center=corner",
       calls<import_box_nms>},
  };
  return kRows;
}

}  // namespace whet::mxnet
