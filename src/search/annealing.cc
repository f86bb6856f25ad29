#include "search/annealing.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace whet {
namespace {

/// The best candidates seen, at most `capacity`.
class Best {
 public:
  explicit Best(std::size_t capacity) : capacity_(capacity) {}
  /// True when the candidate is among the best now and was not before.
  bool add(const Candidate& candidate, double score) {
    if (!scores_.emplace(candidate, score).second) return false;
    by_score_.emplace(score, candidate);
    if (by_score_.size() <= capacity_) return true;
    const auto worst = by_score_.begin();
    const bool kept = !(worst->second == candidate);
    by_score_.erase(worst);
    return kept;
  }
  /// The worst first.
  std::vector<Candidate> all() const {
    std::vector<Candidate> list;
    for (const auto& [score, candidate] : by_score_) list.push_back(candidate);
    return list;
  }

 private:
  std::size_t capacity_;
  std::map<Candidate, double> scores_;
  std::multimap<double, Candidate> by_score_;
};

double spread_of(const std::vector<double>& scores) {
  double sum = 0, squares = 0;
  int count = 0;
  for (double s : scores) {
    if (!std::isfinite(s)) continue;
    sum += s;
    squares += s * s;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
}

}  // namespace

AnnealingStrategy::AnnealingStrategy(SearchSpace space, std::uint64_t seed, AnnealingOptions options)
    : history_(std::move(space)), rng_(seed), options_(options) {}

std::vector<Candidate> AnnealingStrategy::propose(int n) {
  const auto wanted = static_cast<std::size_t>(n);
  std::vector<Candidate> proposals;
  history_.take_first(proposals, wanted);
  const auto random = static_cast<std::size_t>(std::ceil(options_.random_share * n));
  const std::size_t planned = wanted - std::min(wanted, random);
  if (proposals.size() < planned && plan_.empty()) make_plan();
  while (proposals.size() < planned && !plan_.empty()) {
    if (history_.take(plan_.back())) proposals.push_back(plan_.back());
    plan_.pop_back();
  }
  history_.take_random(proposals, wanted, rng_);
  return proposals;
}

void AnnealingStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  history_.observe(candidates, outcomes);
  // What was planned with the old model is planned again with the new one.
  plan_.clear();
}

void AnnealingStrategy::make_plan() {
  const SearchSpace& space = history_.space();
  if (!space.rank || !space.mutate || !history_.best()) return;
  while (chains_.size() < options_.chains) chains_.push_back(space.sample(rng_));
  std::vector<double> scores = space.rank(chains_);
  Best best(options_.plan);
  for (std::size_t i = 0; i < chains_.size(); ++i)
    if (history_.is_new(chains_[i])) best.add(chains_[i], scores[i]);
  int fruitless = 0;
  for (int k = 0; k < options_.iterations && fruitless < options_.early_stop; ++k) {
    const double left = 1 - static_cast<double>(k) / options_.iterations;
    const double temperature = options_.temperature * left * spread_of(scores);
    std::vector<Candidate> steps;
    for (const Candidate& candidate : chains_) {
      const std::optional<Candidate> step = space.mutate(candidate, rng_);
      steps.push_back(step ? *step : candidate);
    }
    const std::vector<double> moved = space.rank(steps);
    bool better = false;
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      if (history_.is_new(steps[i])) better |= best.add(steps[i], moved[i]);
      const double gain = moved[i] - scores[i];
      if (!(gain >= 0) && !(temperature > 0 && rng_.chance(std::exp(gain / temperature)))) continue;
      chains_[i] = steps[i];
      scores[i] = moved[i];
    }
    fruitless = better ? 0 : fruitless + 1;
  }
  plan_ = best.all();
}

}  // namespace whet
