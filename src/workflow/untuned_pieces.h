#pragma once

#include <vector>

#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "space/space.h"
#include "target/target.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// A variant of which nothing was measured, in at most three pieces along one of its ranges, that along which they save most. The schedules
/// of a piece are those for one of the points in it. One more piece only where the estimate saves 3%.
///   at  sizes that may be those of a piece, ascending; those of other variants do not count
///   by_requests  requests are counted: their seconds count. Else the points count alike, by how much longer each takes than by schedules
///                for itself.
std::vector<VariantPiece> untuned_pieces(const Variant&, const std::vector<SizeRange>& sizes,
                                         const std::vector<TuningSize>& at, bool by_requests, const Target&,
                                         const SpaceOptions&);

}  // namespace whet
