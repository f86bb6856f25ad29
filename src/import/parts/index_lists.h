#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Lists of places for several dimensions at once, as numpy and torch index: parts, see arithmetic.h.
namespace whet {

/// One entry for each of the first dimensions of x: integers, which broadcast to each other and may count from the end; none
/// keeps the dimension. The lists' dimensions go to the place of the first listed one if the listed ones are neighbours, else
/// in front.
using PlaceLists = std::vector<std::optional<ValueId>>;
Result<ValueId> gather_by_lists(NodeSite&, ValueId x, const PlaceLists&);
/// x with `values` at those places; they broadcast to what `taken_by_lists` would give.
Result<ValueId> scatter_by_lists(NodeSite&, ValueId x, const PlaceLists&, ValueId values, ScatterKind);

}  // namespace whet
