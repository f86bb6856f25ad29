#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "artifact/outcome_code.h"
#include "plan/layer_precisions.h"
#include "target/machine_rates.h"
#include "task/label.h"
#include "trial/plan.h"
#include "trial/ranged.h"

namespace whet {

/// What a report shows, as plain values: no file, clock or machine is looked at to write it. Times are seconds; infinity
/// where there is none. Zero and "" mean that a thing is not known, and what is not known has no place on the page.

/// One measured candidate of a task. All times of a task are at the pace at which its best was measured.
struct ReportTrial {
  double at = 0;  ///< since the first trial of the file, without the pauses between runs
  double seconds = std::numeric_limits<double>::infinity();
  OutcomeCode code = OutcomeCode::ok;
  double spent = 0;  ///< building and running it
};

struct ReportTask {
  int id = 0;
  std::string name;
  TaskLabel label;
  int weight = 1;
  double flops = 0, bytes = 0;  ///< of one run; each input, constant and output once
  double default_seconds = std::numeric_limits<double>::infinity();
  double best_seconds = std::numeric_limits<double>::infinity();
  std::string limit;                ///< what it is held by: "compute", "memory"
  double limit_seconds = 0;         ///< no schedule is expected to be faster
  std::string limit_why;            ///< the calculation
  std::string note;                 ///< "given up: ..."
  std::string schedule;             ///< the best one as loops
  std::string choices;              ///< of the best one
  std::vector<ReportTrial> trials;  ///< in the order of their lines
};

/// The whole network, measured with default schedules and with the best ones alternately.
struct ReportNetwork {
  double untuned_seconds = 0, tuned_seconds = 0;
  double fastest_seconds = 0;   ///< the fastest inference of the tuned one
  bool disturbed = false;       ///< these times are far from what was predicted
  bool same_schedules = false;  ///< both are one program: their difference is chance
};

/// A kernel of the compiled network, as it was profiled: the fastest of many runs.
struct ReportStep {
  std::string node, op;
  TaskLabel label;
  double seconds = 0, predicted_seconds = 0;
  bool parallel = true;  ///< all workers run it; else the first one alone
};
/// A worker at work on a step of one inference, without a break. Seconds since that inference began.
struct ReportStretch {
  std::size_t step = 0, worker = 0;
  double begin = 0, end = 0;
};
struct ReportProfile {
  std::vector<ReportStep> steps;     ///< in the order in which they run
  double seconds = 0;                ///< of one whole inference
  std::vector<std::string> workers;  ///< the core of each; one at least where there are steps
  // Of one inference, the fastest of many, in which each worker was watched; empty where none was:
  std::vector<ReportStretch> stretches;
  std::vector<double> ends;  ///< of each step
};

/// A kernel of a plan.
struct ReportKernel {
  std::string node;       ///< the value that it computes or copies
  std::string op;         ///< its task's name; "" for what no kernel computes
  TaskLabel label;        ///< its task's
  std::string from, to;   ///< the forms that it reads and writes
  bool copy = false;      ///< it computes nothing but another form
  double seconds = 0;     ///< with `excess`
  double excess = 0;      ///< what the network takes longer than its kernels, as far as the plan lays it on this one
  bool measured = false;  ///< else the time is an estimate
  std::string cover;      ///< "chain", "merged": it does the work of several usual kernels
  int instead = 0;        ///< the number of usual kernels whose work it does
  /// Of all of these; 0 where it does the work of none, as a copy, or where some of them was not measured.
  double usual_seconds = 0, usual_excess = 0;
};
/// A kernel that was measured and does the work of several usual ones, chosen or not.
struct ReportCover {
  std::string kind;                ///< "chain", "merged"
  std::vector<TaskLabel> kernels;  ///< the usual ones
  int times = 1;                   ///< how often the network could run it
  double seconds = 0, usual_seconds = 0;
  bool chosen = false;
};
struct ReportPlan {
  std::vector<ReportKernel> kernels;  ///< all, in the order in which they run
  double seconds = 0;                 ///< their sum
  double excess = 0;                  ///< of it: what the network takes longer than its kernels alone
};
struct ReportLayouts {
  ReportPlan chosen, runner_up, usual;                    ///< runner_up has no kernels where there is none
  std::vector<ReportCover> covers;                        ///< those that save most first
  double bound_seconds = 0;                               ///< no plan was hoped to take less
  double network_seconds = 0, usual_network_seconds = 0;  ///< one inference by each, measured alternately
  bool differs = false;                                   ///< the chosen plan is another than the usual one
  std::string recorded_at;                                ///< when; "": the records have no plan
  std::vector<TriedPlan> tried;                           ///< in the network
};

/// A precision for each layer, chosen on a user's samples.
struct ReportPrecision {
  std::vector<LayerPrecision> layers;  ///< in the order in which they run; empty: the records know no error of one
  bool adopted = false;                ///< a plan in fewer bits serves who asks for it; else all is f32
  std::string note;                    ///< why the records' plan does not count; "" otherwise
  PlanPrecision plan;                  ///< of the adopted plan: limits, samples and errors
  double network_seconds = 0, usual_network_seconds = 0;  ///< one inference by it and in f32, measured alternately
  std::string recorded_at;
};

struct ReportFailure {
  OutcomeCode code = OutcomeCode::unknown;
  std::string message;
  std::int64_t count = 0;
};

/// A machine that ran candidates.
struct ReportDevice {
  std::string name;
  std::int64_t candidates = 0, failed = 0;
  std::string governor;
  double ghz_low = 0, ghz_high = 0, celsius_high = 0;
  std::int64_t throttled = 0;  ///< candidates that it was too hot for
  // Of the run that has just ended:
  std::int64_t jobs = 0;
  int losses = 0;
  double busy_seconds = 0;
  double factor = 0;  ///< its times against those of the device that decides
  bool drained = false;
};

/// How much longer a champion took than when it won: the machine's own speed over the time of tuning.
struct ReportPace {
  double at = 0, pace = 1;
};

/// Where the tuner's wall time went.
struct ReportPhase {
  std::string name;
  double seconds = 0;
};

struct ReportData {
  std::string model, target, machine, records, whet, written_at;
  bool live = false;               ///< tuning goes on: the page loads itself again
  std::vector<std::string> notes;  ///< what a reader should know before the figures
  ReportNetwork network;
  MachineRates rates;
  std::vector<ReportTask> tasks;
  ReportProfile profile;
  ReportLayouts layouts;
  ReportPrecision precision;
  std::vector<NetworkAtSizes> at_sizes;  ///< networks at sizes of their ranges, as the records have them
  std::vector<ReportFailure> failures;
  std::vector<ReportDevice> devices;
  std::vector<ReportPace> paces;
  std::vector<ReportPhase> phases;
  std::int64_t trials = 0, other_trials = 0;  ///< of the file on this target; those of kernels that are no task here
  double build_seconds = 0, run_seconds = 0;  ///< of all trials, by the processes that built and ran them
  double tuned_for_seconds = 0;               ///< without pauses
  std::vector<std::string> commands;          ///< that give these figures again
};

}  // namespace whet
