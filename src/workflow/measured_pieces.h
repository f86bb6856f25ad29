#pragma once

#include <vector>

#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "space/space.h"
#include "target/target.h"
#include "workflow/range_choice.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// A variant of some of whose tasks something was measured, in at most six pieces (cut_regions.h), at each of which every task has one of its
/// kernels; one more only where that saves 1% of the expected seconds. Tasks of which nothing was measured, as in a run that was too short
/// for them, have a say by the estimate of their default schedules.
///   tasks  of the variant: their points, schedules and kernels
///   at     the sizes that count; those of other variants do not
std::vector<VariantPiece> measured_pieces(const Variant&, const std::vector<TaskAcrossSizes>& tasks,
                                          const std::vector<SizeRange>& sizes, const std::vector<TuningSize>& at,
                                          const Target&, const SpaceOptions&);

}  // namespace whet
