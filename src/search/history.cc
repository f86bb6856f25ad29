#include "search/history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whet {
namespace {

/// Samples in a row that bring nothing new before the space counts as used up. With a share p of it left, this many all
/// miss with probability (1 - p)^500: below 1% as soon as p is 1%.
constexpr int kFruitlessSamples = 500;

}  // namespace

void History::take_first(std::vector<Candidate>& proposals, std::size_t n) {
  for (; proposals.size() < n && next_first_ < space_.first.size(); ++next_first_)
    if (take(space_.first[next_first_])) proposals.push_back(space_.first[next_first_]);
}

void History::take_random(std::vector<Candidate>& proposals, std::size_t n, Rng& rng) {
  if (!space_.sample || space_.count <= 0) return;
  for (int fruitless = 0; proposals.size() < n && fruitless < kFruitlessSamples;) {
    Candidate candidate = space_.sample(rng);
    if (take(candidate)) {
      proposals.push_back(std::move(candidate));
      fruitless = 0;
    } else {
      ++fruitless;
    }
  }
}

void History::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  seen_.insert(candidates.begin(), candidates.end());
  for (std::size_t i = 0; i < candidates.size(); ++i)
    timed_.push_back(
        {candidates[i], outcomes[i].ok() ? outcomes[i].best_seconds() : std::numeric_limits<double>::infinity()});
  std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
}

const Candidate* History::best() const {
  return timed_.empty() || !std::isfinite(timed_.front().seconds) ? nullptr : &timed_.front().candidate;
}

}  // namespace whet
