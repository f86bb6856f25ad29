#include <algorithm>

#include "import/parts/boxes.h"
#include "import/parts/move_axis.h"
#include "import/parts/non_zero.h"
#include "import/parts/shape.h"
#include "import/parts/unique.h"
#include "import_torch/rows.h"

// Operators whose number of results depends on values: padded, with the number beside them.

namespace whet::torch {

Status import_nonzero(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId places, counted_non_zero(site, x));
  return site.give(TransposeOperator{{1, 0}}, {places});
}

/// The same as a list for each dimension.
Result<ValueIds> import_nonzero_lists(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId places, counted_non_zero(site, x));
  WHET_TRY(ValueIds lists, split(site, places, 0, Ints(site.rank(x), 1)));
  for (ValueId& list : lists) {
    WHET_TRY(list, squeezed(site, list, Ints{0}));
  }
  return lists;
}

/// The elements, in one list, where the mask is true.
Result<ValueId> import_masked_select(TorchSite& site, ValueId x, ValueId mask) {
  const auto shape = broadcast(site.shape(x), site.shape(mask));
  if (!shape || num_elements(*shape) == 0)
    return site.error("selects of " + to_string(site.type(x)) + " by a mask " + to_string(site.type(mask)));
  for (ValueId* each : {&x, &mask}) {
    WHET_TRY(*each, site.padded_by(*each, 0));
    WHET_TRY(*each, expanded(site, *each, *shape));
    WHET_TRY(*each, site.add("flat", ReshapeOperator{{num_elements(*shape)}}, {*each}));
  }
  return counted_where(site, x, mask, 0);
}

/// The rows of x where a mask over its first dimensions is true, which comes as the only list of places.
Result<ValueId> rows_where(TorchSite& site, ValueId x, ValueId mask) {
  const Shape shape = site.shape(x), dimensions = site.shape(mask);
  const std::size_t count = dimensions.size();
  const auto behind = shape.begin() + static_cast<std::ptrdiff_t>(std::min(count, shape.size()));
  if (count == 0 || count > shape.size() || !std::equal(dimensions.begin(), dimensions.end(), shape.begin()))
    return site.error("selects of " + to_string(site.type(x)) + " by a mask " + to_string(site.type(mask)));
  Shape rows = {num_elements(dimensions)};
  rows.insert(rows.end(), behind, shape.end());
  if (num_elements(shape) == 0) return site.error("selects of " + to_string(site.type(x)) + ", which is empty");
  if (count > 1) {
    WHET_TRY(x, site.padded_by(x, 0));
    WHET_TRY(mask, site.padded_by(mask, 0));
    WHET_TRY(x, site.add("rows", ReshapeOperator{rows}, {x}));
    WHET_TRY(mask, site.add("mask", ReshapeOperator{{rows[0]}}, {mask}));
  }
  return counted_where(site, x, mask, 0);
}

/// Boxes are given by their lower corner and their higher one.
Status import_nms(TorchSite& site, ValueId boxes, ValueId scores, double overlap) {
  if (site.rank(boxes) != 2 || site.shape(boxes)[1] != 4 || site.shape(scores) != Shape{site.shape(boxes)[0]})
    return site.error("chooses among boxes " + to_string(site.type(boxes)) + " by scores " +
                      to_string(site.type(scores)) + "; expected [boxes, 4] and [boxes]");
  if (site.shape(boxes)[0] == 0) return site.give_constant(Tensor(DType::i64, {0}));
  const BestBoxes how{site.shape(boxes)[0], site.add_scalar("limit", site.dtype(scores), overlap)};
  WHET_TRY(const ListedBoxes listed, listed_non_max_suppression(site, boxes, scores, how));
  return site.give(listed.places);
}

/// The different elements, the least first; for each element the place of its value; how many have each.
Status import_unique(TorchSite& site, ValueId x, bool with_places, bool with_counts) {
  const Shape shape = site.shape(x);
  WHET_TRY(const Unique found, unique_elements(site, x, true));
  WHET_RETURN_IF_ERROR(site.give(found.values, 0));
  if (with_places) WHET_RETURN_IF_ERROR(site.give(ReshapeOperator{shape}, {found.inverse}, 1));
  return with_counts ? site.give(found.counts, 2) : ok_status();
}

/// The same of slices along a dimension.
Status import_unique_slices(TorchSite& site, ValueId x, std::int64_t dim, bool with_places, bool with_counts) {
  const std::size_t rank = site.rank(x), d = static_cast<std::size_t>(dim);
  WHET_TRY(x, site.add("rows_first", move_axis(rank, d, 0), {x}));
  WHET_TRY(const Unique found, unique_rows(site, x));
  WHET_RETURN_IF_ERROR(site.give(move_axis(rank, 0, d), {found.values}));
  if (with_places) WHET_RETURN_IF_ERROR(site.give(found.inverse, 1));
  return with_counts ? site.give(found.counts, 2) : ok_status();
}

TorchRows counted_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._unique2", "default", "self ~sorted return_inverse=false return_counts=false", calls<import_unique>},
      {"aten.unique_dim", "default", "self dim(self!) ~sorted return_inverse=false return_counts=false",
       calls<import_unique_slices>},
      {"aten.masked_select", "default", "self mask", calls<import_masked_select>},
      {"aten.argwhere aten.nonzero", "default", "self", calls<import_nonzero>},
      {"aten.nonzero_numpy", "default", "self", calls<import_nonzero_lists>},
      {"aten.where", "default", "condition", calls<import_nonzero_lists>},
      {"torchvision.nms", "default", "dets scores iou_threshold", calls<import_nms>},
  };
  return kRows;
}

}  // namespace whet::torch
