#include "import/parts/detections.h"

#include <algorithm>
#include <limits>

#include "import/parts/arithmetic.h"

namespace whet {
namespace {

using B = BinaryKind;

Result<ValueId> shaped(NodeSite& site, const char* part, ValueId x, const Shape& shape) {
  return site.shape(x) == shape ? Result<ValueId>(x) : site.add(part, ReshapeOperator{shape}, {x});
}

Status check_detections(const NodeSite& site, ValueId corners, ValueId scores, std::int64_t most, std::int64_t total) {
  const Shape &c = site.shape(corners), &s = site.shape(scores);
  const bool fits = c.size() == 4 && s.size() == 3 && num_elements(c) > 0 && num_elements(s) > 0 && c[0] == s[0] &&
                    (c[1] == 1 || c[1] == s[1]) && c[2] == s[2] && c[3] == 4;
  if (!fits)
    return site.error("chooses among boxes " + to_string(site.type(corners)) + " by scores " +
                      to_string(site.type(scores)) + "; expected [N, 1 or classes, boxes, 4] and [N, classes, boxes]");
  constexpr std::int64_t kMost = 4096;
  if (most >= 1 && total >= 1 && total <= kMost) return ok_status();
  return site.error("gives " + std::to_string(total) + " boxes, " + std::to_string(most) +
                    " of a class; expected 1 or more, and at most " + std::to_string(kMost) + " boxes");
}

}  // namespace

Result<ValueId> filled_up(NodeSite& site, ValueId x, ValueId there, std::int64_t total) {
  Shape mask = site.shape(there);
  const std::size_t rank = site.rank(x);
  const std::int64_t missing = total - mask[1];
  mask.resize(rank, 1);
  WHET_TRY(const ValueId exists, shaped(site, "exists", there, mask));
  Tensor zero(site.dtype(x), {});
  WHET_TRY(x, site.add("filled", WhereOperator{}, {exists, x, site.add_constant("zero", zero)}));
  if (missing <= 0) return x;
  PadOperator behind{PadMode::constant, 0, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  behind.end[1] = missing;
  return site.add("filled_up", behind, {x});
}

Result<Detections> best_detections(NodeSite& site, ValueId corners, ValueId scores, BestBoxes how, std::int64_t total,
                                   std::optional<ValueId> listed) {
  WHET_RETURN_IF_ERROR(check_detections(site, corners, scores, how.most, total));
  const Shape c = site.shape(corners), s = site.shape(scores);
  const std::int64_t images = c[0], own = c[1], n = c[2], classes = s[1];
  how.most = std::min({how.most, n, total});
  WHET_TRY(const ValueId lists, shaped(site, "corners", corners, {images * own, n, 4}));
  WHET_TRY(const ValueId by_class, shaped(site, "scores", scores, {images * own, classes / own, n}));
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, lists, by_class, how));
  const std::int64_t all = classes * how.most, count = std::min(total, all);
  WHET_TRY(const ValueId candidates, shaped(site, "candidates", chosen.scores, {images, all}));
  WHET_TRY(const ValueId places, shaped(site, "places", chosen.places, {images, all}));
  WHET_TRY(const ValueId best, site.add("best", TopKOperator{1, count}, {candidates}));
  WHET_TRY(const ValueId score, site.add("best_scores", GatherElementsOperator{1}, {candidates, best}));
  WHET_TRY(ValueId row, site.add("best_places", GatherElementsOperator{1}, {places, best}));
  WHET_TRY(const ValueId owner, with_number(site, "classes", B::div, best, static_cast<double>(how.most)));
  if (own > 1) {
    WHET_TRY(const ValueId begin, with_number(site, "begin", B::mul, owner, static_cast<double>(n)));
    WHET_TRY(row, site.add("rows", BinaryOperator{B::add}, {begin, row}));
  }
  WHET_TRY(row, site.add("column", ReshapeOperator{{images, count, 1}}, {row}));
  WHET_TRY(const ValueId table, shaped(site, "table", listed.value_or(corners), {images, own * n, 4}));
  WHET_TRY(const ValueId boxes, site.add("boxes", GatherNdOperator{1}, {table, row}));
  const ValueId never = site.add_scalar("never", site.dtype(score), -std::numeric_limits<double>::infinity());
  WHET_TRY(const ValueId there, site.add("there", BinaryOperator{B::greater}, {score, never}));
  Detections result;
  WHET_TRY(result.boxes, filled_up(site, boxes, there, total));
  WHET_TRY(result.scores, filled_up(site, score, there, total));
  WHET_TRY(result.classes, filled_up(site, owner, there, total));
  WHET_TRY(const ValueId ones, site.cast("ones", there, DType::i64));
  WHET_TRY(result.count, site.add("count", ReduceOperator{ReduceKind::sum, {1}, false}, {ones}));
  return result;
}

}  // namespace whet
