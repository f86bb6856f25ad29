#pragma once

#include "search/history.h"

namespace whet {

struct AnnealingOptions {
  std::size_t plan = 64;       ///< candidates of one plan
  std::size_t chains = 128;    ///< walks at the same time
  int iterations = 500;        ///< steps of each walk
  int early_stop = 50;         ///< steps without a better plan that end it
  double temperature = 1;      ///< at the first step, falling to 0, in units of the spread of the scores
  double random_share = 0.05;  ///< of a plan
};

/// xgb — simulated annealing over the learned model (AutoTVM's XGBTuner). Chains walk from candidate to neighbour,
/// always uphill, and downhill with a probability given by the temperature. The best candidates that they saw are the
/// next plan; its last 5% are random. The next plan's chains start where these ended.
class AnnealingStrategy : public Strategy {
 public:
  AnnealingStrategy(SearchSpace space, std::uint64_t seed, AnnealingOptions options = {});
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  void make_plan();

  History history_;
  Rng rng_;
  AnnealingOptions options_;
  std::vector<Candidate> chains_;
  std::vector<Candidate> plan_;  ///< not yet proposed, the best last
};

}  // namespace whet
