#include "search/random.h"

namespace whet {

std::vector<Candidate> RandomStrategy::propose(int n) {
  std::vector<Candidate> proposals;
  history_.take_first(proposals, static_cast<std::size_t>(n));
  history_.take_random(proposals, static_cast<std::size_t>(n), rng_);
  return proposals;
}

void RandomStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  history_.observe(candidates, outcomes);
}

}  // namespace whet
