#pragma once

#include <span>
#include <string>

#include "records/records.h"
#include "target/machine_rates.h"
#include "task/task.h"
#include "workflow/measuring.h"
#include "workflow/options.h"

namespace whet {

/// The rates that limit the times of records.
struct RecordRates {
  MachineRates rates;  ///< zeros: unknown
  std::string text;    ///< whose they are ("on this machine, measured now"), or why they are unknown
  bool known() const { return rates.gflops > 0; }
};

/// The other machine whose session with whet timed this; "" where this machine did, or nothing tells of a session.
std::string measured_elsewhere(const Outcome&);
/// The same of the best records of the tasks on a target: the first that there is.
std::string measured_elsewhere(const Records&, std::span<const Task>, const Target&);

/// The rates of this machine, measured now (of a GPU, those of its data sheet). Unknown where times are `elsewhere`'s, as
/// measured_elsewhere names it, or where this machine cannot run the target's code.
///   measure  as measure_rates does, from what was made ready before; empty: that
RecordRates rates_here(const TargetOnCores&, const std::string& elsewhere,
                       const std::function<MachineRates()>& measure = {});
/// The rates of a device elsewhere, measured now by kernels that it times. Unknown where an emulator runs it.
RecordRates rates_there(const MeasuringPlace&);

/// For questions about records: the device elsewhere with that name, which may be emulated, or this machine for "".
Result<MeasuringPlace> choose_asked_place(const TargetOptions&, const std::string& device, const FleetOptions&,
                                          const Tell&);
/// The rates of that place for the times of those records.
RecordRates rates_for(const MeasuringPlace&, const std::string& elsewhere);

}  // namespace whet
