#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "alternatives/alternatives.h"
#include "plan/plan.h"
#include "records/records.h"

namespace whet {

/// Names a task in a search over plans: a part of a larger tensor may fail where the whole does not.
std::string plan_task_id(const Task&);

/// Which alternatives of a network are worth measuring, by the records of what was measured already. Measures nothing.
/// One thread; the arguments live longer.
class PlanHopes {
 public:
  /// The excess of `prices` and its hopes of kinds do not count.
  PlanHopes(const FusedGraph& fused, const Target& target, const Alternatives& alternatives, const Records& records,
            PriceOptions prices)
      : fused_(fused), target_(target), alternatives_(alternatives), records_(records), options_(std::move(prices)) {
    options_.hope_of.clear();
  }

  /// With what is hoped of kernels of one kind on the same forms, by those of them that were measured until the last `learn`.
  std::vector<Price> prices(const NetworkExcess&) const;
  /// Reads the prices anew. The members below are by these.
  void read(const NetworkExcess& excess) { prices_ = prices(excess); }
  /// Reads the prices, what is hoped of each kind, and the prices by it.
  void learn(const NetworkExcess&);
  const std::vector<Price>& prices() const { return prices_; }

  /// None of the task's candidates ran: nothing is hoped of it any more.
  void give_up(const Task& task) { given_up_.insert(plan_task_id(task)); }
  /// The best plans where each kernel takes no more than is hoped. A choice of no seconds gives the usual plan, of which nothing is proven.
  Result<NetworkPlans> best(const std::vector<Price>&, double seconds_a_choice) const;
  /// Alternatives that nobody has measured: no part of a plan that is to run.
  std::vector<int> not_measured() const;

  /// The tasks of these alternatives that have no time yet, the most promising first. Weights are how often the alternatives run them.
  std::vector<Task> unmeasured(const std::vector<int>& alternatives) const;
  /// The same of the few that are hoped to save most of their usual kernels' time.
  std::vector<Task> most_promising() const;
  /// The tasks of plans that the network does not have as it is. Weights are how often the plans run them.
  std::vector<Task> other_tasks(const std::vector<NetworkPlan>&) const;
  /// The task computes several groups, and what was measured of it comes near their usual kernels.
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
