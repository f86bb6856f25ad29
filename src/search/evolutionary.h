#pragma once

#include "search/history.h"

namespace whet {

struct EvolutionaryOptions {
  std::size_t draft = 256;     ///< random candidates that the pool begins with
  std::size_t children = 128;  ///< new ones a round
  std::size_t parents = 64;    ///< of them `measured_share` by measured time, the others by the model's expectation
  std::size_t pool = 1024;     ///< candidates kept; the least promising are dropped
  double mutation = 0.85;      ///< probability that a child is a parent with one change; otherwise it has two parents
  double measured_share = 0.2;
  double random_share = 0.05;  ///< of the proposals: random candidates, which the model might never choose
  int stale_rounds = 2;        ///< rounds without a better candidate; then half of a round goes around the best
};

/// evolutionary — evolution against the learned model (Ansor). The strategy keeps a pool of candidates that are known
/// but not measured. Each round it mutates and crosses the fastest and the most promising, ranks the whole pool anew
/// and proposes its head. When rounds find nothing better, half of each goes to the best candidate's neighbours
/// (coordinate descent). Without a model the pool is ranked at random.
class EvolutionaryStrategy : public Strategy {
 public:
  EvolutionaryStrategy(SearchSpace space, std::uint64_t seed, EvolutionaryOptions options = {});
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  struct Scored {
    Candidate candidate;
    double score = 0;
  };
  void draft();
  void breed();
  /// Ranks the pool, the most promising first, and drops measured candidates and those beyond its size.
  void rank_pool();
  void add_to_pool(Candidate);
  std::vector<const Candidate*> parents() const;
  void take_neighbours(std::vector<Candidate>& proposals, std::size_t n);
  void take_best(std::vector<Candidate>& proposals, std::size_t n);

  History history_;
  Rng rng_;
  EvolutionaryOptions options_;
  std::vector<Scored> pool_;
  std::set<Candidate> in_pool_;
  bool drafted_ = false;
  int stale_ = 0;
};

}  // namespace whet
