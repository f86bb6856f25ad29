#pragma once

#include <functional>
#include <optional>

#include "plan/plan.h"

namespace whet {

/// The sum of the best times of a chain's groups over the time that its kernel is expected to take; nothing where that is unknown,
/// and the chain then left out. The task is the chain's.
using ChainGain = std::function<std::optional<double>(const Task&)>;

/// The network with the chains that are expected to gain; nothing where the sum of its kernels' prices is not below
/// `kFasterUnconfirmedPlan` of the usual ones'. A usual kernel is priced by its record, else by its estimate, a chain by its groups'
/// prices: what estimates are worth in seconds does not matter, only how they compare within the network.
/// A chain that nobody measured replaces no group that has a record of this target and code generator.
///   schedules  only records that these permit count
Result<std::optional<PlannedNetwork>> with_chains(const FusedGraph&, const Records&, const Target&,
                                                  const SpaceOptions& schedules, const ChainGain&);

}  // namespace whet
