#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "trial/candidate.h"
#include "trial/outcome.h"

namespace whet {

/// The part of a design space that a strategy sees: never a device, a schedule or a DAG. Only `sample` must be set. A
/// strategy manages without the functions that are empty.
struct SearchSpace {
  std::vector<Candidate> first;           ///< the default schedule, then the aligned seeds: proposed before all others
  std::function<Candidate(Rng&)> sample;  ///< a legal point, at random
  std::function<std::optional<Candidate>(const Candidate&, Rng&)> mutate;  ///< one decision changed
  std::function<std::optional<Candidate>(const Candidate&, const Candidate&, Rng&)> crossover;
  std::function<std::vector<Candidate>(const Candidate&)> neighbours;  ///< all candidates that differ in one decision
  /// Decisions moved by numbers of options in their order; without moves the point itself. Nothing where there is no such point.
  std::function<std::optional<Candidate>(const Candidate&, const std::map<std::string, int>& moves)> shift;
  std::function<std::optional<Candidate>(std::int64_t)> at;  ///< point `number` of a grid of `grid_size`
  std::int64_t grid_size = 0;
  double count = 0;  ///< how many points there are (an estimate is enough); 0: only `first`
  /// One figure for each candidate, as a model expects it: higher is faster. It may change with every call of
  /// `observe`.
  std::function<std::vector<double>(const std::vector<Candidate>&)> rank;
};

/// Proposes candidates of one task and learns from their outcomes. It is seeded: the same seed and the same
/// observations give the same proposals. It never proposes a candidate that was proposed or observed before.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `n` candidates; none where outcomes of earlier ones have to come first. None although all outcomes are observed
  /// means that the space is used up.
  virtual std::vector<Candidate> propose(int n) = 0;
  /// Takes the outcomes of candidates that this strategy proposed or that an earlier run measured; one outcome for each
  /// candidate.
  virtual void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) = 0;
  /// A proposal that will have no outcome: it writes a schedule that another candidate has.
  virtual void drop(const Candidate&) {}
};

/// The strategies by name, the default one first.
std::vector<std::string> known_strategies();
/// One line each, for `--help` and the documents.
std::string what_is_strategy(const std::string& name);
/// Errors name the strategy and the nearest known one.
Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, SearchSpace, std::uint64_t seed);

}  // namespace whet
