#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "records/records.h"
#include "space/space.h"
#include "target/target.h"
#include "transfer/across_sizes.h"
#include "tuner/ladder.h"
#include "workflow/sizes.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// What is known of a task of a family.
struct TaskAcrossSizes {
  std::vector<SizedPoint> points;        ///< of its own sizes; none: it has none, or none of them counts
  std::vector<SizedSchedule> schedules;  ///< the best for all points first
  std::string packing;                   ///< how the kernels have the task's constants, as text
  /// Those that are kernels of the library, three at most, which pack the task's constants alike: as those do that take the least time
  /// together. `bound` is of all schedules that do.
  KernelChoice kernels;
};

/// The kernels that records promise most of, where they take their sizes when they run.
struct RangeChoice {
  std::vector<TuningSize> at;  ///< the sizes that count, of the network; none: there are no records of any
  std::vector<std::vector<TaskAcrossSizes>> tasks;  ///< of each variant
  /// Of each variant: where sizes are ranges, at most six pieces (cut_regions.h), at each of which every task has one of its kernels;
  /// one more where that saves 1% of the expected seconds. They read the same weights: the kernels of a task pack its constants alike. Of a
  /// variant whose tasks have no records, pieces by the estimate (untuned_pieces.h). Tasks without records beside others have a say by it, and
  /// the default schedules for VariantPiece::at.
  FamilyPieces pieces;
};

/// What a library for ranges is without records.
struct UntunedRanges {
  FamilyPieces pieces;            ///< none: nothing of it is timed
  std::vector<TuningSize> tuned;  ///< whose default schedules count, too
  ScheduleSource source;          ///< gives no records
};
/// Those pieces, by the estimate (untuned_pieces.h).
FamilyPieces untuned_choice(const Family&, const std::vector<WantedSize>&, const TuningSizeOptions&, const Target&,
                            const SpaceOptions&);

/// The tasks of a family whose kernels take sizes, each at those of these sizes of the network that it has. The kernels of the untuned
/// library are timed in any case.
std::vector<LadderTask> ladder_tasks(const Family&, const std::vector<TuningSize>& at, const UntunedRanges&,
                                     const Target&);

/// Chooses by expected seconds over the sizes that are listed, or, where none are, over those of which there are records, sixteen at most.
/// Of more sizes than 1,024 some are looked for, evenly chosen, and those at which a model is tuned.
/// Requests are those of --lengths, or uniform in the logarithm of each size.
/// Errors: of tuning_sizes.
Result<RangeChoice> choose_for_ranges(const Family&, const std::vector<WantedSize>&, const TuningSizeOptions&,
                                      const Records&, const Target&, const SpaceOptions&);

}  // namespace whet
