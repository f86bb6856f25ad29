#pragma once

#include <optional>
#include <vector>

#include "measure/units.h"
#include "trial/outcome.h"

namespace whet {

/// Candidates of one task, ready to run.
struct JobsOfTask {
  std::vector<MeasureRequest> candidates;
  /// The schedule that they have to beat, and its time when and where it was crowned [s]; 0: unknown.
  std::optional<MeasureRequest> champion;
  double champion_seconds = 0;
  double flops = 0, bytes = 0;  ///< of the task: see sane_reply
  std::size_t deciding = 0;     ///< the unit whose times count where the champion's is unknown
};

/// An answer of a device as an outcome of that device.
Outcome outcome_of(MeasureReply, const std::string& device);

/// Measures candidates in jobs on whichever units are free. One outcome each, in order, with its unit and its pace: how
/// much longer the champion took there just then. What was not tried, because the user interrupted or all units are
/// lost, is device_lost; a candidate over which two units were lost is a crash.
std::vector<Outcome> measure_in_jobs(Units&, const JobsOfTask&);

/// How many candidates a job has. Each unit is to have a job, and a job is to take about a second at most.
///   champion_seconds  of a candidate, about; 0: unknown
std::size_t job_size(std::size_t candidates, std::size_t units, int most, double champion_seconds);

}  // namespace whet
