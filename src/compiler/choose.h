#pragma once

#include "compiler/compile.h"
#include "records/records.h"
#include "space/space.h"

namespace whet {

/// The best records where there are any, else default schedules. `records` may be null and outlives the source.
///   options  only schedules that these permit
ScheduleSource best_of(const Records* records, const Target&, const SpaceOptions& options = {});

/// compile_model by `best_of`.
inline Result<CompileReport> compile_model(const FusedGraph& fused, const Records* records, const Target& target,
                                           const std::string& output, const CompileOptions& options = {}) {
  return compile_model(fused, best_of(records, target), target, output, options);
}

}  // namespace whet
