#include "import/parts/boxes.h"

#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

/// Boxes, scores, the number of boxes, how much of two may overlap, the least score; version 5 has a sigma of scores behind them,
/// and the scores among its results.
Status import_non_max_suppression(TfliteSite& site) {
  const bool scores = site.operation().name == "NON_MAX_SUPPRESSION_V5";
  BestBoxes how{.overlap = site.in(3), .score = site.in(4), .at_limit = true};
  WHET_TRY(how.most, site.integer(2, "number of boxes"));
  if (scores && site.has(5)) {
    WHET_TRY(const double sigma, site.known_number(site.in(5), "sigma"));
    if (sigma != 0) return site.error("has a sigma of " + std::to_string(sigma) + "; only 0 is supported");
  }
  WHET_TRY(const PaddedBoxes boxes, padded_non_max_suppression(site, site.in(0), site.in(1), how));
  WHET_RETURN_IF_ERROR(site.give(site.cast("numbers", boxes.places, DType::i32), 0));
  if (scores) WHET_RETURN_IF_ERROR(site.give(boxes.scores, 1));
  return site.give(site.cast("number", boxes.count, DType::i32), scores ? 2 : 1);
}

}  // namespace

TfliteRows boxes_rows() {
  static constexpr TfliteRow kRows[] = {
      {"NON_MAX_SUPPRESSION_V4", {5, 6}, import_non_max_suppression},
      {"NON_MAX_SUPPRESSION_V5", {5, 6}, import_non_max_suppression},
      {"UNIQUE", as_plain, "Unique", "out_idx=type#1"},
      {"WHERE", as_plain, "Where"},
  };
  return kRows;
}

}  // namespace whet::tflite
