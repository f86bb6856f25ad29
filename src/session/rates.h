#pragma once

#include "cost/limit.h"
#include "session/options.h"

namespace whet {

/// The rates that the threads of `place` reach together, measured now; about a quarter of a second. Of a GPU, those of its
/// data sheet.
MachineRates measure_rates(const TargetOnCores& place);
/// The better of two measurements, figure by figure.
MachineRates better_of(const MachineRates&, const MachineRates&);
/// The limit that holds a task which takes `seconds`: the tightest, but none of bandwidth that this time disproves (the
/// bytes lie nearer than was assumed, or the bandwidth was measured beside something else). Null where nothing is known.
const Limit* holding_limit(const std::vector<Limit>&, double seconds);
/// "compute 78%": that limit and the share of it that is reached; "" where nothing is known.
std::string held_by(const std::vector<Limit>&, double seconds);

}  // namespace whet
