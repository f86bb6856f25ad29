#include "search/evolutionary.h"

#include <algorithm>
#include <cmath>

namespace whet {

EvolutionaryStrategy::EvolutionaryStrategy(SearchSpace space, std::uint64_t seed, EvolutionaryOptions options)
    : history_(std::move(space)), rng_(seed), options_(options) {}

std::vector<Candidate> EvolutionaryStrategy::propose(int n) {
  const auto wanted = static_cast<std::size_t>(n);
  std::vector<Candidate> proposals;
  history_.take_first(proposals, wanted);
  if (proposals.size() == wanted) return proposals;
  if (!drafted_) draft();
  breed();
  rank_pool();
  const std::size_t open = wanted - proposals.size();
  // Rounded by chance, so that small rounds have their share of random candidates as well.
  const auto random = static_cast<std::size_t>(options_.random_share * static_cast<double>(open) + rng_.uniform());
  if (stale_ >= options_.stale_rounds) take_neighbours(proposals, proposals.size() + open / 2);
  take_best(proposals, wanted - std::min(open, random));
  history_.take_random(proposals, wanted, rng_);
  take_best(proposals, wanted);
  return proposals;
}

void EvolutionaryStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  const Candidate* best = history_.best();
  const Candidate before = best ? *best : Candidate();
  history_.observe(candidates, outcomes);
  if (candidates.empty()) return;
  const bool better = history_.best() && !(best && *history_.best() == before);
  stale_ = better ? 0 : stale_ + 1;
}

void EvolutionaryStrategy::add_to_pool(Candidate candidate) {
  if (history_.is_new(candidate) && in_pool_.insert(candidate).second) pool_.push_back({std::move(candidate), 0});
}

void EvolutionaryStrategy::draft() {
  drafted_ = true;
  const SearchSpace& space = history_.space();
  if (!space.sample || space.count <= 0) return;
  for (std::size_t i = 0; i < options_.draft; ++i) add_to_pool(space.sample(rng_));
  rank_pool();
}

/// The fastest that were measured and the most promising of the pool, which is ranked.
std::vector<const Candidate*> EvolutionaryStrategy::parents() const {
  std::vector<const Candidate*> list;
  const auto measured = static_cast<std::size_t>(options_.measured_share * static_cast<double>(options_.parents));
  for (const History::Timed& each : history_.timed())
    if (list.size() < measured && std::isfinite(each.seconds)) list.push_back(&each.candidate);
  for (const Scored& each : pool_)
    if (list.size() < options_.parents) list.push_back(&each.candidate);
  return list;
}

void EvolutionaryStrategy::breed() {
  const SearchSpace& space = history_.space();
  const std::vector<const Candidate*> from = parents();
  if (from.empty()) return;
  const auto pick = [&]() -> const Candidate& {
    return *from[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(from.size())))];
  };
  std::vector<Candidate> children;
  for (std::size_t i = 0; i < options_.children; ++i) {
    const Candidate& parent = pick();
    std::optional<Candidate> child;
    if (space.crossover && !rng_.chance(options_.mutation)) child = space.crossover(parent, pick(), rng_);
    if (!child && space.mutate) child = space.mutate(parent, rng_);
    if (child) children.push_back(std::move(*child));
  }
  for (Candidate& child : children) add_to_pool(std::move(child));
}

void EvolutionaryStrategy::rank_pool() {
  std::erase_if(pool_, [&](const Scored& each) { return !history_.is_new(each.candidate); });
  std::vector<Candidate> candidates;
  for (const Scored& each : pool_) candidates.push_back(each.candidate);
  const auto& rank = history_.space().rank;
  const std::vector<double> scores = rank ? rank(candidates) : std::vector<double>();
  for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i].score = rank ? scores[i] : rng_.uniform();
  std::stable_sort(pool_.begin(), pool_.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  while (pool_.size() > options_.pool) {
    in_pool_.erase(pool_.back().candidate);
    pool_.pop_back();
  }
}

void EvolutionaryStrategy::take_neighbours(std::vector<Candidate>& proposals, std::size_t n) {
  const SearchSpace& space = history_.space();
  if (!space.neighbours || !history_.best()) return;
  std::vector<Candidate> near = space.neighbours(*history_.best());
  std::erase_if(near, [&](const Candidate& candidate) { return !history_.is_new(candidate); });
  const std::vector<double> scores = space.rank ? space.rank(near) : std::vector<double>(near.size());
  std::vector<std::size_t> order(near.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (std::size_t i = 0; i < order.size() && proposals.size() < n; ++i)
    if (history_.take(near[order[i]])) proposals.push_back(near[order[i]]);
}

void EvolutionaryStrategy::take_best(std::vector<Candidate>& proposals, std::size_t n) {
  for (const Scored& each : pool_) {
    if (proposals.size() >= n) return;
    if (history_.take(each.candidate)) proposals.push_back(each.candidate);
  }
}

}  // namespace whet
