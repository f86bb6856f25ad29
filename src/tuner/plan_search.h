#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/measurer.h"
#include "plan/chains.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/network.h"
#include "tuner/tuner.h"

namespace whet {

/// The progress of a search over plans.
struct PlanProgress {
  double hoped_seconds = 0, usual_seconds = 0;  ///< of the best plan by measured times and bounds, and of the usual one
  std::size_t measuring = 0;                    ///< tasks of that best plan that are measured now
  std::int64_t trials = 0;                      ///< before that
  double seconds = 0;                           ///< since the search began
};

struct PlanSearchOptions {
  std::string name;  ///< the network's, for people; "": the graph's
  AlternativeOptions alternatives;
  PriceOptions prices;
  TuneOptions tuning;     ///< of the tasks of alternatives; its trials and deadline are those of the whole search
  int trials_a_task = 4;  ///< before the plans are looked at again
  int trials_a_cover =
      16;  ///< the same for kernels of several groups whose times are near those of the kernels they replace
  /// What other networks' chains gained: such chains are measured before others, of which only a bound is known. Empty: nothing is known.
  ChainGain chain_gain;
  int tried_in_network = 4;  ///< of the best plans
  /// Limit of one choice of plans by bounds. The bounds of a network may be too alike for a quick choice. Then the most promising
  /// tasks are measured without a choice, for as long as the choice has taken. 0: there is no choice.
  double seconds_a_choice = 1;
  /// The time by which an inference exceeds the sum of its kernels timed alone. The kernels' prices have parts of it (NetworkExcess).
  double excess_seconds = 0;
  bool knows_excess = true;  ///< false: it was disturbed, and is taken as 0
  /// How these are timed. By its deadline the whole search has ended; by that of `tuning` the tasks are measured. Plans that cannot be
  /// compared before it are left out; where none can, nothing is decided.
  NetworkOptions network;
  std::function<void(const PlanProgress&)> on_round;  ///< before tasks are measured; may be empty
};

/// The result of a search over plans.
struct PlanSearch {
  std::size_t alternatives = 0, tasks = 0;  ///< beside the usual ones
  std::size_t measured = 0;                 ///< of these tasks
  std::int64_t trials = 0;
  double seconds = 0;
  bool complete = false;  ///< no plan is shorter by measured times and bounds; else trials or time were used up
  /// With the excess divided by bytes, as in `complete` and `bound_seconds`. Other divisions of the excess propose plans as well, of
  /// kernels that were measured for these plans.
  NetworkPlans plans;
  double bound_seconds = 0;  ///< no plan takes less by measured times and bounds
  Plan chosen;               ///< the file's plan now. An interrupt may leave a file without a plan: then it is empty
  /// Plans that were tried in the network, the best of each division of the excess first. Both sums are by that division.
  struct Tried : TriedPlan {
    double sum_seconds = 0, usual_sum_seconds = 0;
  };
  std::vector<Tried> tried;
  bool noisy = false;        ///< the network's times were too far apart to conclude anything from them
  bool interrupted = false;  ///< before anything was decided
  bool out_of_time = false;  ///< no plan could be compared before the deadline: nothing was decided
  bool has_excess = true;    ///< false: the network was too disturbed to know its excess over its kernels
};

/// Looks for a better plan of a tuned network. Chains that gained in other networks are measured first. An alternative that nobody has measured counts with its bound, the least time that is
/// hoped for. The search computes the best plan by measured times and bounds, measures the tasks of this plan, and repeats that until
/// the whole plan is measured: then no other can be shorter. Alternatives that are in no such plan are never measured.
/// Then the best plans are timed in the network, each alternately with the usual one. The plan that is clearly faster, or the usual
/// one, becomes a line of the record file. Where the network's times are too far apart to conclude anything, an earlier line stays the
/// last one.
Result<PlanSearch> search_plans(const FusedGraph&, const Target&, Measurer&, RecordFile&, Device&,
                                const PlanSearchOptions&);

/// If `planned` would take kernels that are none of the alternatives asked for, appends a line by which the usual kernels count from
/// now on. Returns whether that was needed.
///   name  the network's, for people
Result<bool> end_plan(const FusedGraph&, const Target&, const AlternativeOptions& asked, const SpaceOptions& schedules,
                      RecordFile&, const std::string& name = "");

}  // namespace whet
