#pragma once

#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "records/records.h"
#include "space/space.h"
#include "target/target.h"
#include "transfer/across_sizes.h"
#include "workflow/sizes.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// What is known of a task of a family.
struct TaskAcrossSizes {
  std::vector<SizedPoint> points;        ///< of its own sizes; none: it has none, or none of them counts
  std::vector<SizedSchedule> schedules;  ///< the best for all points first
};

/// The kernels that records promise most of, where they take their sizes when they run.
struct RangeChoice {
  std::vector<TuningSize> at;  ///< the sizes that count, of the network; none: there are no records of any
  std::vector<std::vector<TaskAcrossSizes>> tasks;  ///< of each variant
  /// Of each variant: where one size is a range, at most three pieces of it, each with kernels of its own where that saves 3% of the
  /// expected seconds. They read the same weights: the kernels of a task pack its constants as the best one for all points does.
  /// Of a variant whose sizes have no records, pieces by the estimate (untuned_pieces.h).
  FamilyPieces pieces;
};

/// Chooses by expected seconds over the sizes that are listed, or, where none are, over those of which there are records, eight at most.
/// Of more sizes than 1,024 some are looked for, evenly chosen, and those at which a model is tuned.
/// Requests are those of --lengths, or uniform in the logarithm of each size.
/// Errors: of tuning_sizes.
Result<RangeChoice> choose_for_ranges(const Family&, const std::vector<WantedSize>&, const TuningSizeOptions&,
                                      const Records&, const Target&, const SpaceOptions&);

}  // namespace whet
