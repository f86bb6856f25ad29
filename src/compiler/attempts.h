#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "trial/candidate.h"

namespace whet {

/// A schedule to try.
struct Attempt {
  Result<Steps> steps;
  TaskReport::Source source;
  double seconds = 0;
  std::string reason;
  ProcessorPlacement placement = {};
  Candidate candidate = {};  ///< no sketch: that of the default schedule
  SizeValues at = {};        ///< the sizes of a task for which it was made; empty: those at which its DAG is
};

/// The schedules to try for a task, the best first, and what there was to choose from.
struct Attempts {
  std::vector<Attempt> list;
  std::optional<TransferredSchedule> transfer;
};

}  // namespace whet
