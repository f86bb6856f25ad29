#include "import/parts/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/mxnet/rows.h"
#include "import/parts/arithmetic.h"
#include "import/parts/detections.h"
#include "import/parts/roi_align.h"
#include "import/parts/shape.h"

// Boxes of detectors. Suppressed ones are rows of -1, so that all results have fixed sizes.

namespace whet::mxnet {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Columns from `first` on of the last dimension.
Result<ValueId> columns_from(NodeSite& site, ValueId x, std::int64_t first, std::int64_t count) {
  return sliced(site, x, {first}, {first + count}, Ints{static_cast<std::int64_t>(site.rank(x)) - 1}, {1});
}
/// One column of rows [N, n, W] as [N, n].
Result<ValueId> list_of_column(NodeSite& site, ValueId rows, std::int64_t k) {
  const Shape shape = site.shape(rows);
  WHET_TRY(const ValueId column, columns_from(site, rows, k, 1));
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
  WHET_TRY(const ValueId low, columns_from(site, corners, 0, 2));
  WHET_TRY(const ValueId high, columns_from(site, corners, 2, 2));
  WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{B::add}, {low, high}));
  WHET_TRY(const ValueId centre, with_number(site, "centre", B::mul, sum, 0.5));
  WHET_TRY(const ValueId size, site.add("size", BinaryOperator{B::sub}, {high, low}));
  return site.add("boxes", ConcatOperator{static_cast<std::int64_t>(site.rank(corners)) - 1}, {centre, size});
}

/// Whether an attribute says that boxes are centres and sizes.
Result<bool> has_centres(const MxSite& site, const std::string& name, const std::string& otherwise) {
  const std::string format = site.text(name, otherwise);
  if (format == "corner" || format == "center") return format == "center";
  return site.error("its " + name + " is " + format + "; expected corner or center");
}

struct NmsPlan {
  std::int64_t most = 0, first = 2, score = 1, label = -1, background = -1;
  double overlap = 0.5, least = 0;
  bool force = false, centres_in = false, centres_out = false;
};
Result<NmsPlan> read_nms(const MxSite& site, std::int64_t boxes, std::int64_t width) {
  NmsPlan plan;
  WHET_TRY(plan.most, site.integer("topk", -1));
  WHET_TRY(plan.first, site.integer("coord_start", 2));
  WHET_TRY(plan.score, site.integer("score_index", 1));
  WHET_TRY(plan.label, site.integer("id_index", -1));
  WHET_TRY(plan.background, site.integer("background_id", -1));
  WHET_TRY(plan.overlap, site.number("overlap_thresh", 0.5));
  WHET_TRY(plan.least, site.number("valid_thresh", 0));
  WHET_TRY(plan.force, site.flag("force_suppress", false));
  WHET_TRY(plan.centres_in, has_centres(site, "in_format", "corner"));
  WHET_TRY(plan.centres_out, has_centres(site, "out_format", "corner"));
  plan.most = plan.most < 0 ? boxes : std::min(plan.most, boxes);
  const bool fits =
      plan.first >= 0 && plan.first + 4 <= width && plan.score >= 0 && plan.score < width && plan.label < width;
  if (fits) return plan;
  return site.error("has boxes in columns from " + std::to_string(plan.first) + ", scores in " +
                    std::to_string(plan.score) + " and classes in " + std::to_string(plan.label) + " of " +
                    std::to_string(width));
}

/// The columns of the boxes in the form that the result has. MXNet leaves those as they are that begin below 0.
Result<ValueId> with_form(NodeSite& site, ValueId rows, const NmsPlan& plan) {
  if (plan.centres_in == plan.centres_out) return rows;
  const std::int64_t width = site.shape(rows)[2];
  WHET_TRY(ValueId boxes, columns_from(site, rows, plan.first, 4));
  WHET_TRY(const ValueId first, columns_from(site, boxes, 0, 1));
  WHET_TRY(const ValueId is_below, with_number(site, "below", B::less, first, 0));
  WHET_TRY(const ValueId other, plan.centres_in ? corners_of_centres(site, boxes) : centres_of_corners(site, boxes));
  WHET_TRY(boxes, site.add("other_form", WhereOperator{}, {is_below, boxes, other}));
  std::vector<ValueId> parts = {boxes};
  if (plan.first > 0) {
    WHET_TRY(const ValueId before, columns_from(site, rows, 0, plan.first));
    parts.insert(parts.begin(), before);
  }
  if (plan.first + 4 < width) {
    WHET_TRY(const ValueId behind, columns_from(site, rows, plan.first + 4, width - plan.first - 4));
    parts.push_back(behind);
  }
  return parts.size() == 1 ? Result<ValueId>(boxes) : site.add("formed", ConcatOperator{2}, parts);
}

/// Classes as whole numbers.
Result<ValueId> labels_of(NodeSite& site, ValueId rows, std::int64_t column) {
  WHET_TRY(const ValueId list, list_of_column(site, rows, column));
  return site.cast("classes", list, DType::i32);
}

/// Rows of scores, boxes and classes: those that are left, the best first.
Status import_box_nms(MxSite& site) {
  const Shape shape = site.shape(site.in(0));
  if (shape.size() < 2 || num_elements(shape) == 0 || !is_float(site.dtype(site.in(0))))
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected rows of boxes");
  const std::int64_t width = shape.back(), n = shape[shape.size() - 2], images = num_elements(shape) / width / n;
  WHET_TRY(const NmsPlan plan, read_nms(site, n, width));
  if (plan.most == 0) return site.pass(site.in(0));
  WHET_TRY(const ValueId x, site.add("rows", ReshapeOperator{{images, n, width}}, {site.in(0)}));
  WHET_TRY(const ValueId scores, list_of_column(site, x, plan.score));
  WHET_TRY(ValueId exists, with_number(site, "valid", B::greater, scores, plan.least));
  if (plan.label >= 0 && plan.background >= 0) {
    WHET_TRY(const ValueId labels, labels_of(site, x, plan.label));
    WHET_TRY(const ValueId background,
             with_number(site, "background", B::equal, labels, static_cast<double>(plan.background)));
    WHET_TRY(const ValueId other, site.add("other", UnaryOperator{UnaryKind::logical_not}, {background}));
    WHET_TRY(exists, site.add("valid", BinaryOperator{B::logical_and}, {exists, other}));
  }
  WHET_TRY(const Ordered best, best_rows(site, x, scores, exists, plan.most));
  WHET_TRY(ValueId corners, columns_from(site, best.rows, plan.first, 4));
  if (plan.centres_in) {
    WHET_TRY(corners, corners_of_centres(site, corners));
  }
  OrderedBoxes boxes{corners, best.exists, site.add_scalar("overlap", site.dtype(corners), plan.overlap)};
  if (plan.label >= 0 && !plan.force) {
    WHET_TRY(boxes.labels, labels_of(site, best.rows, plan.label));
  }
  WHET_TRY(const ValueId left, left_in_order(site, boxes));
  // Those that are left are beside each other.
  WHET_TRY(const ValueId numbers, site.cast("left_numbers", left, DType::f32));
  WHET_TRY(const ValueId formed, with_form(site, best.rows, plan));
  WHET_TRY(const Ordered packed, best_rows(site, formed, numbers, left, plan.most));
  WHET_TRY(const ValueId y, rows_or_none(site, packed.rows, packed.exists, n));
  return site.give(ReshapeOperator{shape}, {y});
}

/// Boxes of several sizes and shapes around each pixel of an image [N, C, H, W], in parts of the image.
Status import_multi_box_prior(MxSite& site) {
  const Shape shape = site.shape(site.in(0));
  WHET_TRY(const std::vector<double> sizes, site.numbers("sizes", {1}));
  WHET_TRY(const std::vector<double> ratios, site.numbers("ratios", {1}));
  WHET_TRY(const std::vector<double> steps, site.numbers("steps", {-1, -1}));
  WHET_TRY(const std::vector<double> offsets, site.numbers("offsets", {0.5, 0.5}));
  WHET_TRY(const bool clip, site.flag("clip", false));
  const bool fits = shape.size() == 4 && num_elements(shape) > 0 && steps.size() == 2 && offsets.size() == 2 &&
                    std::all_of(offsets.begin(), offsets.end(), [](double o) { return o >= 0 && o <= 1; }) &&
                    std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 0; });
  const std::int64_t each = static_cast<std::int64_t>(sizes.size() + ratios.size()) - 1;
  constexpr std::int64_t kMostNumbers = 1 << 24;
  if (!fits || shape[2] * shape[3] > kMostNumbers / 4 / each)
    return site.error("makes boxes of " + std::to_string(sizes.size()) + " sizes and " + std::to_string(ratios.size()) +
                      " ratios for " + to_string(site.type(site.in(0))) +
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
Status import_multi_box_detection(MxSite& site) {
  const Shape s = site.shape(site.in(0)), l = site.shape(site.in(1)), a = site.shape(site.in(2));
  if (s.size() != 3 || num_elements(s) == 0 || s[1] < 2 || num_elements(l) != s[0] * s[2] * 4 ||
      num_elements(a) != s[2] * 4)
    return site.error("detects in scores " + to_string(site.type(site.in(0))) + ", moves " +
                      to_string(site.type(site.in(1))) + " and boxes " + to_string(site.type(site.in(2))) +
                      "; expected [N, classes, n], [N, n * 4] and [1, n, 4]");
  const std::int64_t images = s[0], classes = s[1] - 1, n = s[2];
  WHET_TRY(const std::vector<double> variances, site.numbers("variances", {0.1, 0.1, 0.2, 0.2}));
  WHET_TRY(const double overlap, site.number("nms_threshold", 0.5));
  WHET_TRY(const double least, site.number("threshold", 0.01));
  WHET_TRY(const bool clip, site.flag("clip", true));
  WHET_TRY(const bool force, site.flag("force_suppress", false));
  WHET_TRY(const std::int64_t top, site.integer("nms_topk", -1));
  if (variances.size() != 4 || !(overlap > 0 && overlap <= 1))
    return site.error("has " + std::to_string(variances.size()) + " variances and a threshold of overlap of " +
                      std::to_string(overlap) + "; expected four, and more than 0 to 1");
  // The best class of each box.
  WHET_TRY(const ValueId scores, sliced(site, site.in(0), {1}, {s[1]}, Ints{1}, {1}));
  WHET_TRY(const ValueId label, site.add("class", ArgReduceOperator{true, 1, true, false}, {scores}));
  WHET_TRY(const ValueId score, site.add("score", ReduceOperator{ReduceKind::max, {1}, false}, {scores}));
  WHET_TRY(const ValueId exists, with_number(site, "valid", B::greater_equal, score, least));
  WHET_TRY(ValueId number, site.cast("class_number", label, site.dtype(score)));
  WHET_TRY(number, site.add("class_column", ReshapeOperator{{images, n, 1}}, {number}));
  WHET_TRY(const ValueId score_column, site.add("score_column", ReshapeOperator{{images, n, 1}}, {score}));
  // The boxes, moved.
  WHET_TRY(const ValueId anchors, site.add("anchors", ReshapeOperator{{1, n, 4}}, {site.in(2)}));
  WHET_TRY(const ValueId moves, site.add("moves", ReshapeOperator{{images, n, 4}}, {site.in(1)}));
  WHET_TRY(const ValueId around, centres_of_corners(site, anchors));
  WHET_TRY(const ValueId centre, columns_from(site, around, 0, 2));
  WHET_TRY(const ValueId size, columns_from(site, around, 2, 2));
  const ValueId factors = site.add_constant("variances", Tensor::of(site.dtype(moves), {1, 1, 4}, variances));
  WHET_TRY(const ValueId weighted, site.add("weighted", BinaryOperator{B::mul}, {moves, factors}));
  WHET_TRY(ValueId shift, columns_from(site, weighted, 0, 2));
  WHET_TRY(shift, site.add("shift", BinaryOperator{B::mul}, {shift, size}));
  WHET_TRY(shift, site.add("centres", BinaryOperator{B::add}, {shift, centre}));
  WHET_TRY(ValueId growth, columns_from(site, weighted, 2, 2));
  WHET_TRY(growth, site.add("growth", UnaryOperator{UnaryKind::exp}, {growth}));
  WHET_TRY(growth, site.add("sizes", BinaryOperator{B::mul}, {growth, size}));
  WHET_TRY(const ValueId boxes, site.add("boxes", ConcatOperator{2}, {shift, growth}));
  WHET_TRY(ValueId corners, corners_of_centres(site, boxes));
  if (clip) {
    WHET_TRY(corners, site.add("clipped", ClipOperator{0, 1}, {corners}));
  }
  WHET_TRY(const ValueId rows, site.add("rows", ConcatOperator{2}, {number, score_column, corners}));
  WHET_TRY(const Ordered best, best_rows(site, rows, score, exists, top > 0 ? std::min(top, n) : n));
  OrderedBoxes ordered{{}, best.exists, site.add_scalar("overlap", site.dtype(rows), overlap)};
  WHET_TRY(ordered.corners, columns_from(site, best.rows, 2, 4));
  if (!force && classes > 1) {
    WHET_TRY(ordered.labels, labels_of(site, best.rows, 0));
  }
  ordered.at_limit = true;
  WHET_TRY(const ValueId left, left_in_order(site, ordered));
  // One that is hidden stays in its place, without a class.
  WHET_TRY(const ValueId class_left, columns_from(site, best.rows, 0, 1));
  WHET_TRY(const ValueId own, rows_or_none(site, class_left, left, site.shape(left)[1]));
  WHET_TRY(const ValueId rest, columns_from(site, best.rows, 1, 5));
  WHET_TRY(const ValueId y, site.add("marked", ConcatOperator{2}, {own, rest}));
  return site.give(rows_or_none(site, y, best.exists, n));
}

/// Rows of the number of an image and two corners.
Result<RoiInputs> read_regions(MxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const Shape shape = site.shape(site.in(1));
  if (shape.size() != 2 || shape[1] != 5)
    return site.error("its regions are " + to_string(site.type(site.in(1))) + "; expected five numbers each");
  RoiInputs in{site.in(0), {}, {}};
  WHET_TRY(const ValueId number, columns_from(site, site.in(1), 0, 1));
  WHET_TRY(const ValueId list, site.add("numbers", ReshapeOperator{{shape[0]}}, {number}));
  WHET_TRY(in.images, site.cast("images", list, DType::i32));
  WHET_TRY(in.regions, columns_from(site, site.in(1), 1, 4));
  return in;
}
Result<RoiAlign> read_cells(MxSite& site) {
  RoiAlign plan;
  WHET_TRY(const Ints cells, site.entries("pooled_size", 2, 1, 1));
  plan.cells[0] = cells[0], plan.cells[1] = cells[1];
  WHET_TRY(plan.scale, site.number("spatial_scale", 1));
  return plan;
}

Status import_roi_pooling(MxSite& site) {
  WHET_TRY(const RoiInputs in, read_regions(site));
  WHET_TRY(const RoiAlign plan, read_cells(site));
  return site.give(roi_pooled(site, in, plan));
}

Status import_roi_align(MxSite& site) {
  WHET_TRY(const RoiInputs in, read_regions(site));
  WHET_TRY(RoiAlign plan, read_cells(site));
  WHET_TRY(plan.samples, site.integer("sample_ratio", -1));
  WHET_TRY(plan.half_pixel, site.flag("aligned", false));
  WHET_TRY(const bool sensitive, site.flag("position_sensitive", false));
  if (sensitive || plan.samples < 1)
    return site.error(sensitive ? "chooses channels by their places, which is not supported"
                                : "has no sample_ratio, so that each region decides; expected 1 or more");
  return site.give(roi_aligned(site, in, plan));
}

}  // namespace

MxRows boxes_rows() {
  static constexpr MxRow kRows[] = {
      {"ROIPooling", import_roi_pooling},
      {"_contrib_MultiBoxDetection", 3, import_multi_box_detection},
      {"_contrib_MultiBoxPrior", 1, import_multi_box_prior},
      {"_contrib_ROIAlign", import_roi_align},
      {"_contrib_box_nms", 1, import_box_nms},
      {"_contrib_box_non_maximum_suppression", 1, import_box_nms},
  };
  return kRows;
}

}  // namespace whet::mxnet
