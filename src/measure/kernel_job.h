#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/build.h"
#include "measure/measurer.h"
#include "measure/options.h"

namespace whet {

/// What tells tasks apart in the measurer's memory: a task with the place that it writes to.
std::string id_of(const MeasureTask&);

/// Of the task's inputs.
std::uint64_t seed_of(const MeasureTask&, const MeasureOptions&);

/// A built kernel with the contents of its arguments.
///   inputs  the placeholders' contents for a check; null: legal ones made up here
KernelJob job_of(const MeasureTask&, const BuildResult&, const MeasureOptions&,
                 const std::vector<ArgumentSpec>* inputs = nullptr);

/// To time it by `policy`, in a network whose tasks choose as it does.
MeasureRequest request_of(const MeasureTask&, const BuildResult&, const MeasureOptions&, const TimingPolicy& policy);

}  // namespace whet
