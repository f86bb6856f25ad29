#pragma once

#include <optional>

#include "base/result.h"
#include "import/parts/boxes.h"
#include "import/site.h"

/// The last step of detectors: the best boxes of all classes together. Parts, see arithmetic.h.
namespace whet {

/// The best ones first, zeros behind those that there are.
struct Detections {
  ValueId boxes;    ///< corners [N, total, 4]
  ValueId scores;   ///< [N, total]
  ValueId classes;  ///< i64 [N, total]
  ValueId count;    ///< i64 [N]
};
/// Non-maximum suppression of each class (`BestBoxes::most` boxes at the most), then the `total` best of all. Corners
/// [N, 1, n, 4] of all classes or [N, C, n, 4] of each, scores [N, C, n]. `listed`: what `boxes` are instead of the corners, of
/// their shape. Errors: shapes that do not fit; numbers below 1.
Result<Detections> best_detections(NodeSite&, ValueId corners, ValueId scores, BestBoxes, std::int64_t total,
                                   std::optional<ValueId> listed = std::nullopt);

/// `x` where `there` (booleans [N, n]) is true, else 0, with zeros behind up to `total` in dimension 1; x is [N, n] or [N, n, k].
Result<ValueId> filled_up(NodeSite&, ValueId x, ValueId there, std::int64_t total);

}  // namespace whet
