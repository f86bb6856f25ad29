#pragma once

#include <set>
#include <vector>

#include "search/strategy.h"

namespace whet {

/// The state that every strategy keeps: the space, the candidates proposed or observed so far, and the measured ones,
/// fastest first.
class History {
 public:
  struct Timed {
    Candidate candidate;
    double seconds;  ///< infinity where it failed
  };

  explicit History(SearchSpace space) : space_(std::move(space)) {}

  const SearchSpace& space() const { return space_; }
  bool is_new(const Candidate& candidate) const { return seen_.count(candidate) == 0; }
  /// Marks a candidate as proposed. False when it was marked before.
  bool take(const Candidate& candidate) { return seen_.insert(candidate).second; }
  /// Adds the remaining ones of the default and the seeds, until there are `n` proposals.
  void take_first(std::vector<Candidate>& proposals, std::size_t n);
  /// Adds random candidates until there are `n` proposals, or until the space seems used up.
  void take_random(std::vector<Candidate>& proposals, std::size_t n, Rng&);
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&);

  /// All observed candidates, fastest first, failures last.
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
