#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "plan/chains.h"
#include "plan/plan.h"
#include "records/record_base.h"
#include "records/records.h"
#include "space/space.h"
#include "transfer/transfer.h"

namespace whet {

/// The best records; where a task has none, what a record base knows of similar tasks; else the default schedule.
///   records, base  outlive the source; `records` may be null
///   options        only schedules that these permit
ScheduleSource best_known(const Records* records, const RecordBase& base, const Target&, const SpaceOptions& options);

/// How much chains gained in other networks, each by its best schedules. The base outlives it.
ChainGain known_gains(const RecordBase&, const Target&);
/// The network by chains that gained in other networks, where no records decided how it is computed; nothing where they do not promise enough
/// (plan/chains.h).
Result<std::optional<PlannedNetwork>> with_known_chains(const FusedGraph&, const Records&, const RecordBase&,
                                                        const Target&, const SpaceOptions&);

/// A transfer, and why a task without records does not run by it: "" of the one that is taken.
struct WeighedTransfer {
  Transfer transfer;
  std::string why_not;
};
/// What the base knows for a task, the greatest expected gain first.
///   records  bar schedules that gave wrong answers; may be null
std::vector<WeighedTransfer> weighed_transfers(const Task&, const Records* records, const RecordBase& base,
                                               const Target&, const SpaceOptions& options);
/// Why the base has no transfer for a task that may be compiled unmeasured, as far as that is known without fitting any;
/// "" where it may have one.
std::string why_no_transfer(const Task&, const RecordBase&, const Target&);

}  // namespace whet
