#pragma once

#include "search/history.h"

namespace whet {

/// random — the default schedule and the aligned seeds, then uniform samples, each once.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(SearchSpace space, std::uint64_t seed) : history_(std::move(space)), rng_(seed) {}
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  History history_;
  Rng rng_;
};

}  // namespace whet
