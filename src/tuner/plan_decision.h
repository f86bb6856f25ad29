#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/plan_hopes.h"
#include "tuner/plan_search.h"

namespace whet {

/// The ways to divide the network's excess among its kernels. Nobody knows which kernels it belongs to, so there are four: by bytes,
/// equally, half by each, and not at all. The first way decides what is measured. Where there is no excess or no kernel, one way without excess.
std::vector<NetworkExcess> ways_of_laying(double excess_seconds, const Alternatives&);

/// The name of a graph in a plan's line: `wanted`, or the graph's own where that is empty.
std::string plan_name(const FusedGraph&, const std::string& wanted);

/// Decides between the usual plan, the plans with the shortest sums by any way of dividing the excess, and the earlier plan of the record
/// file. It compiles them and times the network on the device with each, alternately with the usual plan.
/// One thread; the arguments live longer. The destructor frees the device's models.
class PlanDecision {
 public:
  PlanDecision(const FusedGraph& fused, const Target& target, const Alternatives& alternatives, const PlanHopes& hopes,
               const std::vector<NetworkExcess>& ways, RecordFile& file, Device& device,
               const PlanSearchOptions& options);
  ~PlanDecision();
  PlanDecision(const PlanDecision&) = delete;
  PlanDecision& operator=(const PlanDecision&) = delete;

  /// Needs `search.plans`, by the first way. Sets `search.tried` and `search.chosen`, and appends the line. After an interrupt, and
  /// where the network is too noisy, the file's earlier line stays the last one.
  ///   hoped_seconds  no plan takes less by the first way
  Status decide(double hoped_seconds, PlanSearch& search);

 private:
  /// A plan that is shorter than the usual one by one way of dividing the excess.
  struct Proposal {
    NetworkPlan plan;
    std::size_t way;
  };
  struct Way {
    NetworkExcess excess;
    NetworkPlans plans;
  };

  bool interrupted() const { return options_.tuning.interrupted && options_.tuning.interrupted(); }
  double now() const;
  Bursts bursts_for(const NetworkSize&, std::size_t plans) const;
  const Plan* earlier_line() const { return file_.records().plan_for(hash_of(fused_), to_string(target_)); }
  Status keep_earlier_line(PlanSearch&) const;
  Result<std::vector<Proposal>> proposals();
  bool is_among(const std::vector<Proposal>&, const std::vector<PlannedKernel>&) const;
  void add_earlier_plan(std::vector<Proposal>&) const;
  Proposal by_best_way(const NetworkPlan&) const;
  Result<std::optional<std::size_t>> try_in_network(const std::vector<Proposal>&, PlanSearch&);
  Plan line_of(const Proposal&, double hoped_seconds, const PlanSearch&) const;

  const FusedGraph& fused_;
  const Target& target_;
  const Alternatives& alternatives_;
  const PlanHopes& hopes_;
  RecordFile& file_;
  Device& device_;
  const PlanSearchOptions& options_;
  std::vector<Way> ways_;
};

}  // namespace whet
