#include "search/descent.h"

#include <cmath>
#include <iterator>

namespace whet {
namespace {

/// Random candidates that are measured together until one runs.
constexpr std::size_t kFirst = 8;

}  // namespace

std::vector<Candidate> DescentStrategy::propose(int n) {
  const auto wanted = static_cast<std::size_t>(n);
  std::vector<Candidate> proposals;
  history_.take_first(proposals, wanted);
  if (proposals.empty() && wave_.empty() && waited_for_.empty() && !begin_wave()) return proposals;
  while (proposals.size() < wanted && !wave_.empty()) {
    proposals.push_back(std::move(wave_.back()));
    wave_.pop_back();
  }
  waited_for_.insert(proposals.begin(), proposals.end());
  return proposals;
}

void DescentStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  history_.observe(candidates, outcomes);
  for (const Candidate& candidate : candidates) waited_for_.erase(candidate);
}

/// The fastest from which there are moves: records of earlier runs may be of other spaces.
std::optional<History::Timed> DescentStrategy::fastest() const {
  const auto& shift = history_.space().shift;
  if (!shift) return std::nullopt;
  for (const History::Timed& each : history_.timed())
    if (std::isfinite(each.seconds) && shift(each.candidate, {})) return each;
  return std::nullopt;
}

bool DescentStrategy::begin_wave() {
  const std::optional<History::Timed> best = fastest();
  if (!best) {
    history_.take_random(wave_, kFirst, rng_);
    return !wave_.empty();
  }
  if (!stand_ || best->seconds < stand_->seconds) {
    const auto won = moves_.find(best->candidate);
    Moves further = won == moves_.end() ? Moves() : won->second;
    for (auto& [decision, options] : further) options *= 2;
    stand_ = best, next_ = Next::single;
    moves_.clear();
    if (!further.empty()) add(further);
  }
  while (wave_.empty() && next_ != Next::nothing) {
    moves_.clear();
    next_ == Next::single ? add_singles() : add_pairs();
    next_ = next_ == Next::single ? Next::pairs : Next::nothing;
  }
  // In any order: a limit of trials may end in the middle.
  for (std::size_t i = wave_.size(); i > 1; --i)
    std::swap(wave_[i - 1], wave_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(i)))]);
  return !wave_.empty();
}

void DescentStrategy::add(const Moves& moves) {
  const std::optional<Candidate> candidate = history_.space().shift(stand_->candidate, moves);
  if (!candidate || !history_.take(*candidate)) return;
  wave_.push_back(*candidate);
  moves_.emplace(*candidate, moves);
}

void DescentStrategy::add_singles() {
  for (const auto& [decision, choice] : stand_->candidate.choices)
    for (const int step : {1, -1}) add({{decision, step}});
}

void DescentStrategy::add_pairs() {
  const auto& choices = stand_->candidate.choices;
  for (auto one = choices.begin(); one != choices.end(); ++one)
    for (auto other = std::next(one); other != choices.end(); ++other)
      for (const int step : {1, -1})
        for (const int beside : {1, -1}) add({{one->first, step}, {other->first, beside}});
}

}  // namespace whet
