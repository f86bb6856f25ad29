#pragma once

#include <set>
#include <vector>

#include "search/strategy.h"

namespace whet {

/// What every strategy keeps: the space, what was proposed or observed so far, and what was measured, fastest first.
class History {
 public:
  struct Timed {
    Candidate candidate;
    double seconds;  ///< infinity where it failed
  };

  explicit History(SearchSpace space) : space_(std::move(space)) {}

  const SearchSpace& space() const { return space_; }
  bool is_new(const Candidate& candidate) const { return seen_.count(candidate) == 0; }
  /// Marks a candidate as proposed: false when it was before.
  bool take(const Candidate& candidate) { return seen_.insert(candidate).second; }
  /// Adds the default and the seeds that are left, until there are `n` proposals.
  void take_first(std::vector<Candidate>& proposals, std::size_t n);
  /// Adds random candidates until there are `n` proposals, or the space seems used up.
  void take_random(std::vector<Candidate>& proposals, std::size_t n, Rng&);
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&);

  /// Everything observed, fastest first; failures last.
  const std::vector<Timed>& timed() const { return timed_; }
  /// The fastest so far; null when nothing ran yet.
  const Candidate* best() const;

 private:
  SearchSpace space_;
  std::set<Candidate> seen_;
  std::vector<Timed> timed_;
  std::size_t next_first_ = 0;
};

}  // namespace whet
