#pragma once

#include <set>

#include "search/strategy.h"

namespace whet {

/// random — the default schedule and the aligned seeds, then uniform samples, each once.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(SearchSpace, std::uint64_t seed);
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  /// A sample that is new, or nothing after many that are not.
  bool sample_new(Candidate& candidate);

  SearchSpace space_;
  Rng rng_;
  std::size_t next_first_ = 0;
  std::set<Candidate> seen_;
};

}  // namespace whet
