#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/plan_hopes.h"
#include "tuner/plan_search.h"

namespace whet {

/// Nobody knows which kernels a network's excess belongs to. There are four ways to lay it: on bytes, on kernels, half on each, on none.
/// The first way decides what is measured. One way, of nothing, where there is no excess or no kernel.
std::vector<NetworkExcess> ways_of_laying(double excess_seconds, const Alternatives&);

/// Of a graph, as a plan's line has it.
std::string plan_name(const FusedGraph&, const std::string& wanted);

/// The network decides between the usual plan and those that the sums propose by any way of laying the excess, and the one that the
/// record file had before. It compiles them and times them on the device, each alternately with the usual one.
/// One thread; the arguments live longer. The device's models are freed with it.
class PlanDecision {
 public:
  PlanDecision(const FusedGraph& fused, const Target& target, const Alternatives& alternatives, const PlanHopes& hopes,
               const std::vector<NetworkExcess>& ways, RecordFile& file, Device& device,
               const PlanSearchOptions& options);
  ~PlanDecision();
  PlanDecision(const PlanDecision&) = delete;
  PlanDecision& operator=(const PlanDecision&) = delete;

  /// Needs `search.plans`, by the first way. Sets what was tried and the plan that the file has now, and appends the line; after an
  /// interrupt, and where the network is too noisy, the file's earlier line stays the last one.
  ///   hoped_seconds  no plan was hoped to take less by the first way
  Status decide(double hoped_seconds, PlanSearch& search);

 private:
  /// A plan that is shorter than the usual one by one way of laying the excess.
  struct Proposal {
    NetworkPlan plan;
    std::size_t way;
  };
  struct Way {
    NetworkExcess excess;
    NetworkPlans plans;
  };

  bool interrupted() const { return options_.tuning.interrupted && options_.tuning.interrupted(); }
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
