#include "search/random.h"

#include <utility>

namespace whet {
namespace {

/// Samples in a row that bring nothing new before the space counts as used up. With a share p of it left, this many all
/// miss with probability (1 - p)^500: below 1% as soon as p is 1%.
constexpr int kFruitlessSamples = 500;

}  // namespace

RandomStrategy::RandomStrategy(SearchSpace space, std::uint64_t seed) : space_(std::move(space)), rng_(seed) {}

bool RandomStrategy::sample_new(Candidate& candidate) {
  if (!space_.sample || space_.count <= 0) return false;
  for (int i = 0; i < kFruitlessSamples; ++i) {
    candidate = space_.sample(rng_);
    if (seen_.insert(candidate).second) return true;
  }
  return false;
}

std::vector<Candidate> RandomStrategy::propose(int n) {
  std::vector<Candidate> proposals;
  while (static_cast<int>(proposals.size()) < n && next_first_ < space_.first.size()) {
    const Candidate& candidate = space_.first[next_first_++];
    if (seen_.insert(candidate).second) proposals.push_back(candidate);
  }
  for (Candidate candidate; static_cast<int>(proposals.size()) < n && sample_new(candidate);)
    proposals.push_back(candidate);
  return proposals;
}

void RandomStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>&) {
  seen_.insert(candidates.begin(), candidates.end());
}

}  // namespace whet
