#pragma once

#include "search/history.h"

namespace whet {

/// grid — the default schedule and the seeds, then every point in the order of the grid.
class GridStrategy : public Strategy {
 public:
  GridStrategy(SearchSpace space, std::uint64_t /*seed*/) : history_(std::move(space)) {}
  std::vector<Candidate> propose(int n) override;
  void observe(const std::vector<Candidate>&, const std::vector<Outcome>&) override;

 private:
  History history_;
  std::int64_t next_ = 0;
};

}  // namespace whet
