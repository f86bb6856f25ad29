#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/measurer.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/network.h"
#include "tuner/tuner.h"

namespace whet {

/// How far a search over plans is.
struct PlanProgress {
  double hoped_seconds = 0, usual_seconds = 0;  ///< of the best plan that is hoped for, and of the usual one
  std::size_t measuring = 0;                    ///< tasks of the hoped plan that are measured now
  std::int64_t trials = 0;                      ///< before that
  double seconds = 0;                           ///< since the search began
};

struct PlanSearchOptions {
  std::string name;  ///< the network's, for people; "": the graph's
  AlternativeOptions alternatives;
  PriceOptions prices;
  TuneOptions tuning;        ///< of the tasks of alternatives; its trials and minutes are those of the whole search
  int trials_a_task = 4;     ///< before the plans are looked at again
  int trials_a_cover = 16;   ///< the same for kernels of several groups that come near those that they stand for
  int tried_in_network = 4;  ///< of the best plans
  /// Of one choice over hopes. Hopes of one network may be too alike for a quick choice: then what promises most is measured
  /// without one, for as long as the choice has taken. 0: there is no choice.
  double seconds_a_choice = 1;
  /// What one inference takes longer than its kernels timed alone: part of the kernels' prices (NetworkExcess).
  double excess_seconds = 0;
  bool knows_excess = true;                           ///< false: it was disturbed, and is taken as 0
  NetworkOptions network;                             ///< how these are timed
  std::function<void(const PlanProgress&)> on_round;  ///< before tasks are measured; may be empty
};

/// What became of a search over plans.
struct PlanSearch {
  std::size_t alternatives = 0, tasks = 0;  ///< beside the usual ones
  std::size_t measured = 0;                 ///< of these tasks
  std::int64_t trials = 0;
  double seconds = 0;
  bool complete = false;  ///< no plan can be shorter by what is hoped; else trials or time were used up
  /// With the excess laid on bytes, as `complete` and `bound_seconds` have it too. Other ways of laying it propose plans as well, of
  /// kernels that were measured because these sums hoped for them.
  NetworkPlans plans;
  double bound_seconds = 0;  ///< no plan was hoped to take less
  Plan chosen;               ///< the file's plan now. An interrupt may leave a file without a plan: then it is empty
  /// Plans that were tried in the network, the best of each way of laying the excess first. Both sums are by its own way.
  struct Tried : TriedPlan {
    double sum_seconds = 0, usual_sum_seconds = 0;
  };
  std::vector<Tried> tried;
  bool noisy = false;        ///< the network's times were too far apart to conclude anything from them
  bool interrupted = false;  ///< before anything was decided
  bool has_excess = true;    ///< false: the network was too disturbed to say what it takes longer than its kernels
};

/// Looks for a better plan of a tuned network. Alternatives that nobody has measured are hoped to take no less than their
/// bounds; the best plan by measured times and bounds is looked for, its tasks are measured, and so on, until that plan
/// is measured whole: then no other can be shorter. Alternatives that no such plan uses are never measured.
/// The best plans are timed in the network, each alternately with the usual one, and the network decides: a plan that is
/// clearly faster, or the usual one, becomes a line of the record file. Where the network's times are too far apart to conclude
/// anything, an earlier line stays the last one.
Result<PlanSearch> search_plans(const FusedGraph&, const Target&, Measurer&, RecordFile&, Device&,
                                const PlanSearchOptions&);

/// Where `planned` would take kernels that are none of the alternatives asked for, a line says that the usual ones count from
/// now on. Gives whether it was needed.
///   name  the network's, for people
Result<bool> end_plan(const FusedGraph&, const Target&, const AlternativeOptions& asked, const SpaceOptions& schedules,
                      RecordFile&, const std::string& name = "");

}  // namespace whet
