#include "search/grid.h"

namespace whet {

std::vector<Candidate> GridStrategy::propose(int n) {
  std::vector<Candidate> proposals;
  history_.take_first(proposals, static_cast<std::size_t>(n));
  const SearchSpace& space = history_.space();
  while (static_cast<int>(proposals.size()) < n && space.at && next_ < space.grid_size) {
    std::optional<Candidate> candidate = space.at(next_++);
    if (candidate && history_.take(*candidate)) proposals.push_back(std::move(*candidate));
  }
  return proposals;
}

void GridStrategy::observe(const std::vector<Candidate>& candidates, const std::vector<Outcome>& outcomes) {
  history_.observe(candidates, outcomes);
}

}  // namespace whet
