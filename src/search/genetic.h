#pragma once

#include "search/history.h"

namespace whet {

struct GeneticOptions {
  std::size_t population = 100;  ///< candidates of a generation
  std::size_t elite = 3;         ///< of them that the next generation keeps as they are
  double mutation = 0.1;         ///< probability that a child changes in one decision
};

/// ga — a genetic algorithm on measured times alone, without a model (AutoTVM's GATuner). Parents are drawn in
/// proportion to their speed, and children take each decision from one of the two.
class GeneticStrategy : public Strategy {
 public:
  GeneticStrategy(SearchSpace space, std::uint64_t seed, GeneticOptions options = {});
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  /// Puts the children of the measured generation into `next_`.
  void breed();
  const Candidate& parent(const std::vector<double>& cumulated);

  History history_;
  Rng rng_;
  GeneticOptions options_;
  std::vector<History::Timed> generation_;  ///< measured so far
  std::vector<Candidate> next_;             ///< children not yet proposed
};

}  // namespace whet
