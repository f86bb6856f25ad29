#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "alternatives/alternatives.h"
#include "plan/price.h"
#include "trial/plan.h"

namespace whet {

/// A set of alternatives that computes a network, in an order in which they can run.
struct NetworkPlan {
  std::vector<int> alternatives;  ///< numbers of Alternatives::all
  double seconds = 0;             ///< sum of their prices
};

/// The best plans of a network.
struct NetworkPlans {
  std::vector<NetworkPlan> best;  ///< the best first; at least one
  NetworkPlan usual;              ///< the kernels of the fused graph as it is
  double bound = 0;               ///< no plan of these alternatives has a smaller sum of these prices
  double gap = 0;                 ///< (the best plan's sum - bound) / that sum
  int cuts = 0;                   ///< as ChosenPlans has it
  bool optimal = false;
};

struct PlanOptions {
  int plans = 1;  ///< the best to find, each different in a convolution's forms, where there are convolutions
  std::vector<int> required;   ///< alternatives of every plan
  std::vector<int> forbidden;  ///< and of none
  bool bounds = false;         ///< true: the sum is of Price::bound, the least that a plan can take
  double seconds_limit = 10;   ///< of one run of the solver, as ChoiceOptions has it
  /// What each alternative adds to the squared error of the network's answers, and the most that a plan may add; empty: nothing is counted.
  std::vector<double> uses = {};
  double budget = 0;
  double gap = 0;  ///< as ChoiceOptions has it
};

/// Chooses exactly (choice/choice.h): the sum of the prices is least, every value is there in each form in which it is read,
/// and a transform counts once for each value and form. Of plans with equal sums the usual one is taken.
/// Errors: a required alternative that no plan can have; no plan within the budget.
Result<NetworkPlans> best_plans(const FusedGraph&, const Alternatives&, const std::vector<Price>&,
                                const PlanOptions& = {});

/// Names a fused graph in a record file: a hash of its text.
std::string hash_of(const FusedGraph&);

/// Names a network's constants: a plan that rounds them errs otherwise with others. Reads them all.
std::string hash_of_constants(const FusedGraph&);

/// A plan as the record file keeps it: kernels by the names of their nodes.
std::vector<PlannedKernel> kernels_of(const FusedGraph&, const Alternatives&, const NetworkPlan&);
/// The forms in a plan's kernels, without nhwc and without those of fewer bits. An error names a kernel whose text is no form.
Result<std::vector<ActivationLayout>> forms_of(const std::vector<PlannedKernel>&);
/// The types of fewer bits in which a plan's kernels store activations.
std::vector<StoredAs> lowered_of(const std::vector<PlannedKernel>&);
/// Adds the forms of a plan to the options, so that the plan is among the alternatives however much its blocks pad. Kernels
/// whose text is no form add nothing.
void add_forms_of(const std::vector<PlannedKernel>&, AlternativeOptions&);
/// The alternatives of a plan: the usual ones where it names no other. An error names a kernel that the graph does not have.
Result<NetworkPlan> find_plan(const FusedGraph&, const Alternatives&, const std::vector<PlannedKernel>&);

/// A plan is taken when its time in the network is below this part of the usual plan's. The best of many plans is partly lucky.
constexpr double kFasterPlan = 0.99;
/// The same for sums, where no network has confirmed the plan: times that were recorded beside other programs have larger errors.
constexpr double kFasterUnconfirmedPlan = 0.95;

/// The keys of all tasks of a network and of its alternatives, in the forms of the target and of the records' plan. Records
/// with other keys belong to other networks.
Result<std::vector<std::string>> task_keys(const FusedGraph&, const Target&, const Records&);

/// The network by a plan of a record file, or as it is where none is better for it and for this target.
struct PlannedNetwork {
  FusedGraph fused;
  std::vector<PlannedKernel> kernels;     ///< that are not the usual ones
  const Plan* line = nullptr;             ///< of the records, which decided; null: there is none that counts
  double seconds = 0, usual_seconds = 0;  ///< sums of the records' times, where a plan was solved from these
  std::string note;                       ///< why the records' plan does not count; "" otherwise
};
/// Applies the last plan of the records. Where they have none for the network, it computes the best plan whose kernels were all
/// measured, and takes it when its sum is below `kFasterUnconfirmedPlan` of the usual one's.
///   schedules  only records that these permit count
Result<PlannedNetwork> planned(const FusedGraph&, const Records&, const Target&, const SpaceOptions& schedules = {});

/// The last plan of the records that stores activations in fewer bits, of whichever kind (PlanPrecision::uniform). Null where there is
/// none, or where it is of other constants, and then the note says why.
const Plan* last_lowered_line(const FusedGraph&, const Records&, const Target&, std::string& note);
/// Applies the last plan of the records that stores activations in fewer bits, of this kind. Where there is none, or where it is of other
/// constants or kernels, the network is as it is, and the note says why.
Result<PlannedNetwork> planned_lowered(const FusedGraph&, const Records&, const Target&, std::string_view uniform = "");
/// What such a plan would bring who did not ask for it: "in bf16 (0.60 of the time, worst held-out sample 0.81%); --precision auto takes
/// it"; "" where there is none that counts. One that was chosen layer by layer comes before one of a single type.
std::string lowered_offer(const FusedGraph&, const Records&, const Target&);
/// "0.60 of the time, worst held-out sample 0.81%"
std::string lowered_worth(const Plan&);

}  // namespace whet
