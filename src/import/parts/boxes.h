#pragma once

#include <optional>

#include "base/result.h"
#include "import/site.h"

/// Boxes of detectors: parts, see arithmetic.h. Corners are [..., 4]: the lower ones of both dimensions, then the higher ones.
namespace whet {

/// Boxes [..., 4] by two corners in any order, or by centre and size (horizontal before vertical): their corners.
Result<ValueId> ordered_corners(NodeSite&, ValueId boxes);
Result<ValueId> corners_of_centres(NodeSite&, ValueId boxes);
/// The corners of boxes by centre and size that are moved by parts of their size, and grown by powers of e: [..., 4], too.
Result<ValueId> corners_of_moved(NodeSite&, ValueId boxes, ValueId moves);

struct BestBoxes {
  std::int64_t most = 0;                          ///< of a class, at least 1
  std::optional<ValueId> overlap = std::nullopt;  ///< scalar: more than that part in common goes; none: 0
  std::optional<ValueId> score = std::nullopt;    ///< scalar: only better ones are taken; none: all
  bool at_limit = false;                          ///< what overlaps by that part exactly goes too
  bool keeps_least = false;                       ///< boxes with exactly that score are taken too
  std::optional<ValueId> labels = std::nullopt;   ///< [N, n]: only boxes of one label hide each other
};
struct ChosenBoxes {
  ValueId places;  ///< i64 [N, C, most]
  ValueId scores;  ///< [N, C, most]; minus infinity where there is no box any more
  ValueId exists;  ///< booleans [N, C, most]: the first ones
};
/// Non-maximum suppression of corners [N, n, 4] by scores [N, C, n]: of each class the best box, then the best of those that do not
/// overlap it, and so on. Errors: more than 4096 boxes a class.
Result<ChosenBoxes> non_max_suppression(NodeSite&, ValueId corners, ValueId scores, BestBoxes);

/// Which of corners [N, n, 4] are left that come one after the other, the best first: booleans [N, n]. A box goes that overlaps one
/// before it which is left; `exists` [N, n]: those that count. Errors: more than 4096 boxes.
struct OrderedBoxes {
  ValueId corners, exists;
  ValueId overlap;                               ///< scalar, of the corners' type
  std::optional<ValueId> labels = std::nullopt;  ///< [N, n]: only boxes of one label hide each other
  bool at_limit = false;                         ///< what overlaps by that part exactly goes too
};
Result<ValueId> left_in_order(NodeSite&, const OrderedBoxes&);

/// A list [n] of the places of the chosen boxes of one class, -1 behind them, counted in dimension 0; and their number.
struct ListedBoxes {
  ValueId places, count;
  ValueId scores;  ///< [n], not marked as counted; minus infinity behind the boxes
};
/// The same of one image and one class: corners [n, 4], scores [n].
Result<ListedBoxes> listed_non_max_suppression(NodeSite&, ValueId corners, ValueId scores, const BestBoxes&);

/// The same as TensorFlow has it, of boxes by two corners in any order: exactly `most` places and scores, zeros behind those that
/// were chosen, and their number. Nothing of it is marked as counted.
struct PaddedBoxes {
  ValueId places, scores, count;
};
Result<PaddedBoxes> padded_non_max_suppression(NodeSite&, ValueId boxes, ValueId scores, BestBoxes);

/// Rows (image, class, place) of the chosen boxes, i64 [N * C * most, 3], -1 behind them, counted in dimension 0.
Result<ValueId> rows_of_boxes(NodeSite&, const ChosenBoxes&);

}  // namespace whet
