#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "trial/candidate.h"
#include "trial/outcome.h"

namespace whet {

/// What a strategy sees of a design space: never a device, a schedule or a DAG.
struct SearchSpace {
  std::vector<Candidate> first;           ///< the default schedule, then the aligned seeds: proposed before all others
  std::function<Candidate(Rng&)> sample;  ///< a legal point, at random
  double count = 0;                       ///< how many points there are (an estimate is enough); 0: only `first`
};

/// Proposes candidates of one task and learns from what became of them. Seeded: the same seed and the same observations
/// give the same proposals. Nothing that was proposed or observed is proposed again.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `n` candidates; fewer than `n` (none in the end) when no new one is found: the space is used up.
  virtual std::vector<Candidate> propose(int n) = 0;
  /// What became of candidates, proposed by this strategy or remembered from an earlier run; one outcome a candidate.
  virtual void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) = 0;
};

/// The strategies by name, the default one first.
std::vector<std::string> known_strategies();
/// Errors name the strategy and the nearest known one.
Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, SearchSpace, std::uint64_t seed);

}  // namespace whet
