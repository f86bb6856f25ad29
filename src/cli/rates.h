#pragma once

#include "cli/options.h"
#include "cost/limit.h"

namespace whet {

/// What the threads of `place` reach together, measured now; about a quarter of a second.
MachineRates measure_rates(const Place& place);
/// The better of two measurements, figure by figure.
MachineRates best_of(const MachineRates&, const MachineRates&);
/// "compute 78%": the tightest limit and the share of it that is reached; "" where nothing is known.
std::string held_by(const std::vector<Limit>&, double seconds);

}  // namespace whet
