#pragma once

#include "compiler/compile.h"
#include "records/records.h"

namespace whet {

/// The best records where there are any, else default schedules. `records` may be null and outlives the source.
///   exact  only records whose schedules are `is_exact`
ScheduleSource best_of(const Records* records, const Target&, bool exact = false);

/// compile_model by `best_of`.
inline Result<CompileReport> compile_model(const FusedGraph& fused, const Records* records, const Target& target,
                                           const std::string& output, const CompileOptions& options = {}) {
  return compile_model(fused, best_of(records, target), target, output, options);
}

}  // namespace whet
