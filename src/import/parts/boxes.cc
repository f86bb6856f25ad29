#include "import/parts/boxes.h"

#include <algorithm>
#include <array>
#include <limits>

#include "import/parts/index.h"
#include "import/parts/non_zero.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

Result<ValueId> boxes_binary(NodeSite& site, const char* part, BinaryKind kind, ValueId a, ValueId b) {
  return site.add(part, BinaryOperator{kind}, {a, b});
}

/// Lower and higher corners, areas, and labels where there are some.
using Planes = std::vector<ValueId>;

/// Of the last dimension of x, as planes of `shape`.
Result<Planes> planes_of(NodeSite& site, ValueId x, const Shape& given) {
  const Shape shape(given.begin(), given.end());  // which may be of a value of the graph, whose list grows
  Planes planes;
  for (std::int64_t k = 0; k < site.shape(x).back(); ++k) {
    WHET_TRY(const ValueId column, columns_of(site, x, k, 1));
    WHET_TRY(const ValueId plane, site.add("plane", ReshapeOperator{shape}, {column}));
    planes.push_back(plane);
  }
  return planes;
}

/// Corners, areas and labels in one table [N, n, 5 or 6].
Result<ValueId> table_of(NodeSite& site, ValueId corners, std::optional<ValueId> labels) {
  WHET_TRY(const ValueId low, columns_of(site, corners, 0, 2));
  WHET_TRY(const ValueId high, columns_of(site, corners, 2, 2));
  WHET_TRY(const ValueId size, boxes_binary(site, "size", BinaryKind::sub, high, low));
  WHET_TRY(const ValueId height, columns_of(site, size, 0, 1));
  WHET_TRY(const ValueId width, columns_of(site, size, 1, 1));
  WHET_TRY(const ValueId area, boxes_binary(site, "area", BinaryKind::mul, height, width));
  std::vector<ValueId> parts = {corners, area};
  if (labels) {
    Shape column = site.shape(corners);
    column.back() = 1;
    WHET_TRY(const ValueId numbers, site.cast("labels", *labels, site.dtype(corners)));
    WHET_TRY(const ValueId apart, site.add("label_column", ReshapeOperator{column}, {numbers}));
    parts.push_back(apart);
  }
  return site.add("table", ConcatOperator{static_cast<std::int64_t>(site.rank(corners)) - 1}, parts);
}

/// Whether more than `limit` of the area of two boxes together is common to both. `compare`: greater, or greater_equal.
Result<ValueId> overlapping(NodeSite& site, const Planes& a, const Planes& b, ValueId limit, BinaryKind compare) {
  std::array<ValueId, 2> common;
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const ValueId low, boxes_binary(site, "low", BinaryKind::max, a[d], b[d]));
    WHET_TRY(const ValueId high, boxes_binary(site, "high", BinaryKind::min, a[d + 2], b[d + 2]));
    WHET_TRY(const ValueId extent, boxes_binary(site, "extent", BinaryKind::sub, high, low));
    WHET_TRY(common[d], site.add("common", UnaryOperator{UnaryKind::relu}, {extent}));
  }
  WHET_TRY(const ValueId both, boxes_binary(site, "both", BinaryKind::mul, common[0], common[1]));
  WHET_TRY(const ValueId areas, boxes_binary(site, "areas", BinaryKind::add, a[4], b[4]));
  WHET_TRY(const ValueId all, boxes_binary(site, "all", BinaryKind::sub, areas, both));
  WHET_TRY(const ValueId part, boxes_binary(site, "part", BinaryKind::div, both, all));
  WHET_TRY(const ValueId overlaps, boxes_binary(site, "overlaps", compare, part, limit));
  if (a.size() < 6) return overlaps;
  WHET_TRY(const ValueId same, boxes_binary(site, "same", BinaryKind::equal, a[5], b[5]));
  return boxes_binary(site, "hides", BinaryKind::logical_and, overlaps, same);
}

/// A scalar of the type of the scores.
Result<ValueId> limit_of(NodeSite& site, const char* part, ValueId limit, DType dtype) {
  if (num_elements(site.shape(limit)) != 1)
    return site.error("a threshold is " + to_string(site.type(limit)) + "; expected one number");
  WHET_TRY(limit, site.cast(part, limit, dtype));
  return site.add(part, ReshapeOperator{Shape{}}, {limit});
}

Status check_boxes(const NodeSite& site, const TensorType& corners, const TensorType& scores, std::int64_t most) {
  const Shape &c = corners.shape, &s = scores.shape;
  constexpr std::int64_t kMostRounds = 4096;
  const bool fits = c.size() == 3 && s.size() == 3 && c[2] == 4 && c[0] == s[0] && c[1] == s[2] &&
                    corners.dtype == scores.dtype && is_float(scores.dtype) && num_elements(s) > 0;
  if (!fits)
    return site.error("chooses among boxes " + to_string(corners) + " by scores " + to_string(scores) +
                      "; expected floats [N, boxes, 4] and [N, classes, boxes]");
  if (most >= 1 && most <= kMostRounds) return ok_status();
  return site.error("takes up to " + std::to_string(most) + " boxes one after the other; at most " +
                    std::to_string(kMostRounds) + " are supported");
}

}  // namespace

Result<ValueId> ordered_corners(NodeSite& site, ValueId boxes) {
  WHET_TRY(const ValueId first, columns_of(site, boxes, 0, 2));
  WHET_TRY(const ValueId second, columns_of(site, boxes, 2, 2));
  WHET_TRY(const ValueId low, boxes_binary(site, "low", BinaryKind::min, first, second));
  WHET_TRY(const ValueId high, boxes_binary(site, "high", BinaryKind::max, first, second));
  return site.add("corners", ConcatOperator{static_cast<std::int64_t>(site.rank(boxes)) - 1}, {low, high});
}

Result<ValueId> corners_of_centres(NodeSite& site, ValueId boxes) {
  WHET_TRY(const ValueId centre, columns_of(site, boxes, 0, 2));
  WHET_TRY(const ValueId size, columns_of(site, boxes, 2, 2));
  const ValueId half = site.add_scalar("half", site.dtype(boxes), 0.5);
  WHET_TRY(const ValueId reach, boxes_binary(site, "reach", BinaryKind::mul, size, half));
  WHET_TRY(const ValueId low, boxes_binary(site, "low", BinaryKind::sub, centre, reach));
  WHET_TRY(const ValueId high, boxes_binary(site, "high", BinaryKind::add, centre, reach));
  return site.add("corners", ConcatOperator{static_cast<std::int64_t>(site.rank(boxes)) - 1}, {low, high});
}

Result<ValueId> corners_of_moved(NodeSite& site, ValueId boxes, ValueId moves) {
  WHET_TRY(const ValueId size, columns_of(site, boxes, 2, 2));
  WHET_TRY(ValueId centre, columns_of(site, moves, 0, 2));
  WHET_TRY(centre, boxes_binary(site, "shift", BinaryKind::mul, centre, size));
  WHET_TRY(const ValueId from, columns_of(site, boxes, 0, 2));
  WHET_TRY(centre, boxes_binary(site, "centres", BinaryKind::add, centre, from));
  WHET_TRY(ValueId grown, columns_of(site, moves, 2, 2));
  WHET_TRY(grown, site.add("growth", UnaryOperator{UnaryKind::exp}, {grown}));
  WHET_TRY(grown, boxes_binary(site, "sizes", BinaryKind::mul, grown, size));
  const auto last = static_cast<std::int64_t>(site.rank(boxes)) - 1;
  WHET_TRY(const ValueId moved, site.add("moved_boxes", ConcatOperator{last}, {centre, grown}));
  return corners_of_centres(site, moved);
}

Result<ChosenBoxes> non_max_suppression(NodeSite& site, ValueId corners, ValueId scores, BestBoxes how) {
  WHET_RETURN_IF_ERROR(check_boxes(site, site.type(corners), site.type(scores), how.most));
  WHET_TRY(corners, site.padded_by(corners, 0));
  WHET_TRY(ValueId left, site.padded_by(scores, kNever));
  const Shape shape = site.shape(scores);
  const DType dtype = site.dtype(scores);
  const std::int64_t n = shape[2];
  const BinaryKind compare = how.at_limit ? BinaryKind::greater_equal : BinaryKind::greater;
  const ValueId never = site.add_scalar("never", dtype, kNever);
  if (how.score) {
    WHET_TRY(const ValueId limit, limit_of(site, "score_limit", *how.score, dtype));
    WHET_TRY(
        const ValueId better,
        boxes_binary(site, "better", how.keeps_least ? BinaryKind::greater_equal : BinaryKind::greater, left, limit));
    WHET_TRY(left, site.add("candidates", WhereOperator{}, {better, left, never}));
  }
  ValueId limit = site.add_scalar("overlap_limit", dtype, 0);
  if (how.overlap) {
    WHET_TRY(limit, limit_of(site, "overlap_limit", *how.overlap, dtype));
  }
  WHET_TRY(const ValueId table, table_of(site, corners, how.labels));
  WHET_TRY(const Planes planes, planes_of(site, table, {shape[0], 1, n}));
  const ValueId places = site.add_constant("numbers", numbered({1, 1, n}));
  std::vector<ValueId> chosen, best_scores;
  for (std::int64_t round = 0; round < how.most; ++round) {
    WHET_TRY(const ValueId best, site.add("best", ArgReduceOperator{true, 2, true, false}, {left}));
    WHET_TRY(const ValueId score, site.add("best_score", GatherElementsOperator{2}, {left, best}));
    chosen.push_back(best);
    best_scores.push_back(score);
    if (round + 1 == how.most) break;
    WHET_TRY(const ValueId box, site.add("box", GatherNdOperator{1}, {table, best}));
    WHET_TRY(const Planes of_best, planes_of(site, box, {shape[0], shape[1], 1}));
    WHET_TRY(const ValueId overlaps, overlapping(site, planes, of_best, limit, compare));
    WHET_TRY(const ValueId itself, boxes_binary(site, "itself", BinaryKind::equal, places, best));
    WHET_TRY(const ValueId gone, boxes_binary(site, "gone", BinaryKind::logical_or, overlaps, itself));
    WHET_TRY(left, site.add("left", WhereOperator{}, {gone, never, left}));
  }
  ChosenBoxes result{chosen[0], best_scores[0], {}};
  if (how.most > 1) {
    WHET_TRY(result.places, site.add("chosen", ConcatOperator{2}, chosen));
    WHET_TRY(result.scores, site.add("chosen_scores", ConcatOperator{2}, best_scores));
  }
  WHET_TRY(result.exists, boxes_binary(site, "exists", BinaryKind::greater, result.scores, never));
  return result;
}

/// The best one that is left is the first: scores count backwards. So each step is the same task.
Result<ValueId> left_in_order(NodeSite& site, const OrderedBoxes& boxes) {
  const Shape shape = site.shape(boxes.corners);
  const bool fits = shape.size() == 3 && shape[2] == 4 && num_elements(shape) > 0 &&
                    site.shape(boxes.exists) == Shape{shape[0], shape[1]};
  if (!fits)
    return site.error("chooses among boxes " + to_string(site.type(boxes.corners)) + "; expected [N, boxes, 4]");
  const std::int64_t n = shape[1];
  WHET_TRY(const ValueId corners, site.cast("corners", boxes.corners, DType::f32));
  Tensor order(DType::f32, {1, n});
  for (std::int64_t i = 0; i < n; ++i) order.set(i, static_cast<double>(-i));
  const ValueId never = site.add_scalar("never", DType::f32, kNever);
  WHET_TRY(ValueId scores,
           site.add("order", WhereOperator{}, {boxes.exists, site.add_constant("backwards", order), never}));
  WHET_TRY(scores, site.add("scores", ReshapeOperator{{shape[0], 1, n}}, {scores}));
  BestBoxes how{.most = n, .overlap = boxes.overlap, .at_limit = boxes.at_limit, .labels = boxes.labels};
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, corners, scores, how));
  // A box is left where one of the steps has chosen it.
  WHET_TRY(const ValueId places, site.add("chosen_rows", ReshapeOperator{{shape[0], n, 1}}, {chosen.places}));
  WHET_TRY(const ValueId exists, site.add("exists_rows", ReshapeOperator{{shape[0], n, 1}}, {chosen.exists}));
  WHET_TRY(ValueId left, boxes_binary(site, "is_chosen", BinaryKind::equal, places,
                                      site.add_constant("numbers", numbered({1, 1, n}))));
  WHET_TRY(left, boxes_binary(site, "is_left", BinaryKind::logical_and, left, exists));
  WHET_TRY(left, site.cast("left_numbers", left, DType::u8));
  WHET_TRY(left, site.add("any", ReduceOperator{ReduceKind::max, {1}, false}, {left}));
  return site.cast("left", left, DType::boolean);
}

Result<ListedBoxes> listed_non_max_suppression(NodeSite& site, ValueId corners, ValueId scores, const BestBoxes& how) {
  if (site.rank(corners) != 2 || site.rank(scores) != 1)
    return site.error("chooses among boxes " + to_string(site.type(corners)) + " by scores " +
                      to_string(site.type(scores)) + "; expected [boxes, 4] and [boxes]");
  Shape boxes = site.shape(corners), list = site.shape(scores);
  boxes.insert(boxes.begin(), 1);
  list.insert(list.begin(), 2, 1);
  WHET_TRY(corners, site.add("image", ReshapeOperator{boxes}, {corners}));
  WHET_TRY(scores, site.add("class", ReshapeOperator{list}, {scores}));
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, corners, scores, how));
  const ValueId none = site.add_constant("none", Tensor::of<std::int64_t>(DType::i64, {}, {-1}));
  WHET_TRY(const ValueId filled, site.add("filled", WhereOperator{}, {chosen.exists, chosen.places, none}));
  WHET_TRY(const ValueId ones, site.cast("ones", chosen.exists, DType::i64));
  WHET_TRY(const ValueId count, site.add("count", ReduceOperator{ReduceKind::sum, {0, 1, 2}, false}, {ones}));
  WHET_TRY(const ValueId places, site.add("places", ReshapeOperator{{how.most}}, {filled}));
  WHET_TRY(const ValueId chosen_scores, site.add("scores", ReshapeOperator{{how.most}}, {chosen.scores}));
  site.set_count(places, 0, count);
  return ListedBoxes{places, count, chosen_scores};
}

Result<PaddedBoxes> padded_non_max_suppression(NodeSite& site, ValueId boxes, ValueId scores, BestBoxes how) {
  if (site.rank(boxes) != 2 || site.shape(boxes)[1] != 4 || site.rank(scores) != 1 ||
      site.shape(scores)[0] != site.shape(boxes)[0] || site.shape(scores)[0] == 0 || how.most < 1)
    return site.error("chooses " + std::to_string(how.most) + " among boxes " + to_string(site.type(boxes)) +
                      " by scores " + to_string(site.type(scores)) + "; expected [boxes, 4] and [boxes]");
  const std::int64_t wanted = how.most, there = site.shape(scores)[0];
  how.most = std::min(wanted, there);
  WHET_TRY(const ValueId corners, ordered_corners(site, boxes));
  WHET_TRY(const ListedBoxes listed, listed_non_max_suppression(site, corners, scores, how));
  WHET_TRY(ValueId places, site.padded_by(listed.places, 0));
  const ValueId never = site.add_scalar("no_score", site.dtype(scores), kNever);
  WHET_TRY(const ValueId filled, boxes_binary(site, "has_score", BinaryKind::greater, listed.scores, never));
  const ValueId zero = site.add_scalar("zero", site.dtype(scores), 0);
  WHET_TRY(ValueId best, site.add("filled_scores", WhereOperator{}, {filled, listed.scores, zero}));
  if (wanted > there) {
    const PadOperator behind{PadMode::constant, 0, {0}, {wanted - there}};
    WHET_TRY(places, site.add("all_places", behind, {places}));
    WHET_TRY(best, site.add("all_scores", behind, {best}));
  }
  return PaddedBoxes{places, best, listed.count};
}

Result<ValueId> rows_of_boxes(NodeSite& site, const ChosenBoxes& chosen) {
  const Shape shape = site.shape(chosen.places);
  const std::int64_t rows = num_elements(shape);
  WHET_RETURN_IF_ERROR(expect_small(site, {rows, 3}, "the list of boxes"));
  Tensor owners(DType::i64, {rows, 2});
  for (std::int64_t row = 0; row < rows; ++row) {
    owners.set_integer(2 * row, row / shape[2] / shape[1]);
    owners.set_integer(2 * row + 1, row / shape[2] % shape[1]);
  }
  WHET_TRY(const ValueId places, site.add("column", ReshapeOperator{{rows, 1}}, {chosen.places}));
  WHET_TRY(const ValueId table, site.add("boxes", ConcatOperator{1}, {site.add_constant("owners", owners), places}));
  WHET_TRY(const ValueId exists, site.add("flat", ReshapeOperator{{rows}}, {chosen.exists}));
  WHET_TRY(const PlacesWhere found, places_where(site, exists));
  WHET_TRY(const ValueId y, rows_at(site, table, found.places, -1));
  site.set_count(y, 0, found.count);
  return y;
}

}  // namespace whet
