#include "search/genetic.h"

#include <algorithm>
#include <cmath>

namespace whet {
namespace {

/// Children that exist already are tried again this often for each one wanted.
constexpr std::size_t kAttempts = 8;

double speed(const History::Timed& timed) { return std::isfinite(timed.seconds) ? 1 / timed.seconds : 0; }

}  // namespace

GeneticStrategy::GeneticStrategy(SearchSpace space, std::uint64_t seed, GeneticOptions options)
    : history_(std::move(space)), rng_(seed), options_(options) {}

std::vector<Candidate> GeneticStrategy::propose(int n) {
  const auto wanted = static_cast<std::size_t>(n);
  std::vector<Candidate> proposals;
  history_.take_first(proposals, wanted);
  if (next_.empty() && generation_.size() >= options_.population) breed();
  while (proposals.size() < wanted && !next_.empty()) {
    if (history_.take(next_.back())) proposals.push_back(next_.back());
    next_.pop_back();
  }
  history_.take_random(proposals, wanted, rng_);
  return proposals;
}

void GeneticStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  history_.observe(candidates, outcomes);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    generation_.push_back({candidates[i], outcomes[i].best_seconds()});
}

const Candidate& GeneticStrategy::parent(const std::vector<double>& cumulated) {
  const double point = rng_.uniform() * cumulated.back();
  const auto at = std::upper_bound(cumulated.begin(), cumulated.end(), point);
  const auto last = static_cast<std::ptrdiff_t>(generation_.size()) - 1;
  return generation_[static_cast<std::size_t>(std::min(at - cumulated.begin(), last))].candidate;
}

void GeneticStrategy::breed() {
  const SearchSpace& space = history_.space();
  std::vector<double> cumulated;
  for (const History::Timed& each : generation_)
    cumulated.push_back((cumulated.empty() ? 0 : cumulated.back()) + speed(each));
  const std::size_t children = options_.population - std::min(options_.population, options_.elite);
  for (std::size_t attempt = 0; attempt < kAttempts * children && next_.size() < children; ++attempt) {
    std::optional<Candidate> child = parent(cumulated);
    if (space.crossover)
      if (auto crossed = space.crossover(*child, parent(cumulated), rng_)) child = std::move(crossed);
    if (space.mutate && (!history_.is_new(*child) || rng_.uniform() < options_.mutation))
      child = space.mutate(*child, rng_);
    if (child && history_.is_new(*child) && std::find(next_.begin(), next_.end(), *child) == next_.end())
      next_.push_back(std::move(*child));
  }
  generation_.clear();
  for (std::size_t i = 0; i < std::min(options_.elite, history_.timed().size()); ++i)
    generation_.push_back(history_.timed()[i]);
}

}  // namespace whet
