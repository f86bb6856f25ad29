#pragma once

#include <optional>

#include "cost/limit.h"
#include "measure/cpu/peak.h"
#include "workflow/options.h"

namespace whet {

/// The rates that the threads of `place` reach together, measured now; about a quarter of a second. Of a GPU, those of its
/// data sheet.
MachineRates measure_rates(const TargetOnCores& place);
/// The same in two steps: a kernel is compiled, which another thread may do meanwhile, and then the processors are measured.
class RatesMeasurement {
 public:
  explicit RatesMeasurement(TargetOnCores place);
  MachineRates measure() const;

 private:
  TargetOnCores place_;
  std::optional<PeakBurst> burst_;  ///< none of a GPU, and where it does not compile or this machine cannot run it
  std::optional<PeakBurst> pairs_;  ///< of bf16; the same, and none where the processor has no such products
};
/// The better of two measurements, figure by figure.
MachineRates better_of(const MachineRates&, const MachineRates&);
/// The limit that holds a task which takes `seconds`: the tightest, but none of bandwidth that this time disproves (the
/// bytes lie nearer than was assumed, or the bandwidth was measured beside something else), and no peak that is impossible. Null where nothing is known.
const Limit* holding_limit(const std::vector<Limit>&, double seconds);
/// "compute 78%": that limit and the share of it that is reached; "" where nothing is known.
std::string held_by(const std::vector<Limit>&, double seconds);

}  // namespace whet
