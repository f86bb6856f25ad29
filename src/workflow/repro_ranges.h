#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "records/records.h"
#include "transfer/across_sizes.h"
#include "trial/outcome.h"
#include "tuner/ladder.h"
#include "tuner/reproduction.h"
#include "workflow/range_choice.h"
#include "workflow/tuning.h"

namespace whet {

/// A task of ranges whose kernels are measured again.
struct RangeReplay {
  LadderTask task;                       ///< at the sizes of which the records have times
  std::vector<SizedSchedule> schedules;  ///< those kernels: `seconds` and `ranged` are at these sizes
  /// Seconds of all requests, as recorded.
  double then() const;
};

/// Of a task the kernels that a library takes, then the others in the order of what is known of them, `best` at most: those that were
/// timed for all sizes. Nothing where none was.
std::optional<RangeReplay> replay_of(const SizedTask&, const TaskAcrossSizes&, int best);
/// Those of a model with ranges, chosen as a compile with the records would choose, the heaviest first. None: it has no ranges, or the
/// records have no times of its kernels. Errors: it cannot be read at its sizes; of the kind interrupted where the user did.
///   reading  hears how many sizes of all are read
Result<std::vector<RangeReplay>> range_replays(
    const TuneSettings&, const Prepared&, const Records&, int best,
    const std::function<void(std::int64_t read, std::int64_t all)>& reading = {});

/// Where another schedule seems faster than the best of then by more than this part, all are timed once more: one glance may be luck.
constexpr double kDoubt = 0.03;
/// Whether that is so of some size.
///   now  [schedule][size]
bool another_kernel_seems_faster(const RangeReplay&, const std::vector<std::vector<Outcome>>& now);
/// The outcomes of both times: the best run of each kernel that ran twice, and what failed once.
void keep_the_best(const std::vector<std::vector<Outcome>>& more, std::vector<std::vector<Outcome>>& now);

/// What became of them: a row for each size at which they have times.
///   now       [schedule][size]
///   first_id  of the first row
std::vector<RemeasuredTask> remeasured_rows(const RangeReplay&, const std::vector<std::vector<Outcome>>& now,
                                            int first_id);

}  // namespace whet
