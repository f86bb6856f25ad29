#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "trial/candidate.h"
#include "trial/outcome.h"

namespace whet {

/// What a strategy sees of a design space: never a device, a schedule or a DAG. Only `sample` must be there; a strategy
/// does without what is empty as well as it can.
struct SearchSpace {
  std::vector<Candidate> first;           ///< the default schedule, then the aligned seeds: proposed before all others
  std::function<Candidate(Rng&)> sample;  ///< a legal point, at random
  std::function<std::optional<Candidate>(const Candidate&, Rng&)> mutate;  ///< one decision made otherwise
  std::function<std::optional<Candidate>(const Candidate&, const Candidate&, Rng&)> crossover;
  std::function<std::vector<Candidate>(const Candidate&)> neighbours;  ///< all that differ in one decision
  std::function<std::optional<Candidate>(std::int64_t)> at;            ///< point `number` of a grid of `grid_size`
  std::int64_t grid_size = 0;
  double count = 0;  ///< how many points there are (an estimate is enough); 0: only `first`
  /// One figure a candidate, the higher the faster: what a model expects. It may change with every call of `observe`.
  std::function<std::vector<double>(const std::vector<Candidate>&)> rank;
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
/// One line each, for `--help` and the documents.
std::string what_is_strategy(const std::string& name);
/// Errors name the strategy and the nearest known one.
Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, SearchSpace, std::uint64_t seed);

}  // namespace whet
