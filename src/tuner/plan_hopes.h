#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "alternatives/alternatives.h"
#include "plan/chains.h"
#include "plan/plan.h"
#include "records/records.h"

namespace whet {

/// Names a task in a search over plans: a part of a larger tensor may fail where the whole does not.
std::string plan_task_id(const Task&);

/// Decides which alternatives of a network are worth measuring, by the records. Measures nothing. One thread; the arguments live
/// longer.
class PlanHopes {
 public:
  /// `prices.excess` and `prices.hope_of` do not count.
  PlanHopes(const FusedGraph& fused, const Target& target, const Alternatives& alternatives, const Records& records,
            PriceOptions prices)
      : fused_(fused), target_(target), alternatives_(alternatives), records_(records), options_(std::move(prices)) {
    options_.hope_of.clear();
  }

  /// The prices with this excess. The bounds of kernels of one kind on the same forms (PriceOptions::hope_of) come from those that
  /// were measured until the last `learn`.
  std::vector<Price> prices(const NetworkExcess&) const;
  /// Reads the prices anew. The members below use these.
  void read(const NetworkExcess& excess) { prices_ = prices(excess); }
  /// Reads the prices, sets `hope_of` by them, and reads the prices again.
  void learn(const NetworkExcess&);
  const std::vector<Price>& prices() const { return prices_; }

  /// None of the task's candidates ran: it is not proposed any more.
  void give_up(const Task& task) { given_up_.insert(plan_task_id(task)); }
  /// The best plans if each kernel takes its bound. With 0 seconds for the choice: the usual plan, which is not proven to be the best.
  Result<NetworkPlans> best(const std::vector<Price>&, double seconds_a_choice) const;
  /// Alternatives that nobody has measured. A plan that is to run has none of them.
  std::vector<int> not_measured() const;
  /// Alternatives that multiply fewer bits in groups of which no kernel was measured that multiplies the same. What is measured without them
  /// completes plans: a kernel is of use only where others write what it reads and read what it writes.
  std::vector<int> not_begun() const;

  /// The tasks of these alternatives that have no time yet, the most promising first. Weights are how often the alternatives run them.
  std::vector<Task> unmeasured(const std::vector<int>& alternatives) const;
  /// The same of the few alternatives, without some, whose bounds save most of their usual kernels' time.
  std::vector<Task> most_promising(const std::vector<int>& without = {}) const;
  /// The same of chains that are known to gain, those first that save most.
  std::vector<Task> known_chains(const ChainGain&) const;
  /// The tasks of plans that are not tasks of the usual network. Weights are how often the plans run them.
  std::vector<Task> other_tasks(const std::vector<NetworkPlan>&) const;
  /// The task computes several groups, and its measured time is near that of their usual kernels.
  bool is_near_cover(const Task&) const;
  /// The task computes several groups.
  bool is_cover(const Task&) const;

 private:
  const Task& task_of(const Alternative& a) const { return alternatives_.tasks[static_cast<std::size_t>(a.task)]; }
  bool is_unmeasured(int alternative) const;
  double usual_seconds(int group) const;
  double usual_seconds_of(const Alternative&) const;
  std::vector<Task> weighted(const std::map<int, int>& counts) const;
  std::map<std::string, double> gains() const;

  const FusedGraph& fused_;
  const Target& target_;
  const Alternatives& alternatives_;
  const Records& records_;
  PriceOptions options_;
  std::vector<Price> prices_;
  std::set<std::string> given_up_;
};

}  // namespace whet
