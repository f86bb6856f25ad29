#pragma once

#include <map>
#include <set>
#include <utility>

#include "search/history.h"

namespace whet {

/// descent — coordinate descent with a growing step (the idea of AutoTVM's Droplet search). It stands at the fastest candidate that it
/// knows. All candidates one option away from it are measured, in each decision up and down; where none is faster, those two decisions
/// away. The fastest that is faster becomes the next stand, and its move is repeated with twice the step as long as that wins. Where
/// nothing near is faster the space counts as used up: the stand is a local optimum. Outcomes decide what comes next, so that `propose`
/// gives nothing while those of earlier proposals are missing. Where nothing runs yet, candidates are random.
class DescentStrategy : public Strategy {
 public:
  DescentStrategy(SearchSpace space, std::uint64_t seed) : history_(std::move(space)), rng_(seed) {}
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;
  void drop(const Candidate& candidate) override { waited_for_.erase(candidate); }

 private:
  /// Options up or down, by decision.
  using Moves = std::map<std::string, int>;
  /// What is measured around the stand when a wave has brought nothing better.
  enum class Next : std::uint8_t { single, pairs, nothing };

  std::optional<History::Timed> fastest() const;
  /// Fills `wave_`; false where the search has ended.
  bool begin_wave();
  void add(const Moves&);
  void add_singles();
  void add_pairs();

  History history_;
  Rng rng_;
  std::optional<History::Timed> stand_;
  Next next_ = Next::single;
  std::vector<Candidate> wave_;       ///< still to be proposed
  std::map<Candidate, Moves> moves_;  ///< from the stand, of the candidates of the last wave
  std::set<Candidate> waited_for_;    ///< proposed and not observed
};

}  // namespace whet
