#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/measurer.h"
#include "records/digest.h"
#include "records/record_base.h"
#include "records/record_file.h"
#include "schedule/steps.h"
#include "search/budget.h"
#include "space/schedule_table.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

struct TuneOptions {
  std::int64_t trials = 0;  ///< measured in this run, failed ones included; 0: no limit
  /// The second of the run's clock by which the search and the comparison of the fastest have ended; infinity: no limit. Batches
  /// become smaller towards it. Who learns more of what has to come after the search may move it in `on_round`.
  double deadline = std::numeric_limits<double>::infinity();
  int first_round = 8;                    ///< trials of each task before rounds are given out by their expected gain
  int round = 32;                         ///< trials of one task before the next round is given out
  int batch = 32;                         ///< trials that are built together; each is then timed and recorded alone
  std::string strategy = "evolutionary";  ///< one of known_strategies()
  BudgetPolicy budget = BudgetPolicy::gradient;
  /// A task rests when tuning it as much again promises less than this share of the network's latency; 0: never.
  double least_gain = 0.005;
  int early_stop = 0;  ///< a task ends after this many trials without a better candidate; 0: never
  bool seeds = true;   ///< false: neither the default schedule nor seeds, to measure the search alone
  std::uint64_t seed = 0;
  int hopeless_after = 32;                ///< a task whose first trials all fail is given up
  std::vector<int> ids;                   ///< numbers of the tasks in the network; empty: 0, 1, ...
  BudgetNetworks networks;                ///< of a run for several, and the latencies that end it
  std::vector<std::vector<double>> uses;  ///< how often one run of each of them runs each task: [task][network]
  bool exact = false;                     ///< no algorithm that rounds otherwise than the direct one
  Precision precision = Precision::f32;   ///< what products may round their operands to
  bool confirm = true;  ///< measure the fastest again, alternately with each other and the schedule to beat
  /// What was best for similar tasks of other networks: tried first, for all tasks (tuner/quick_round.h), and the seeds of the search.
  /// Null: as if it were empty.
  const RecordBase* base = nullptr;
  /// Sketches that the user brings, which are searched beside those of a task or instead of them. Null: none.
  std::shared_ptr<const OwnSketchesByTask> own_sketches;
  /// The tasks are those of one network at several sizes: what becomes best of one is tried at all others of its structure.
  bool several_sizes = false;
  bool quick_round = true;            ///< false: no round of short bursts; what the base knows only seeds the search
  bool quick_only = false;            ///< the quick round and nothing else
  bool finals_only = false;           ///< compare the fastest of each task again, and nothing else
  PlacementTimes placements;          ///< of the run before these tasks
  std::function<bool()> interrupted;  ///< asked between batches; may be empty
  std::function<double()> clock;      ///< seconds, never backwards; empty: the machine's
};

/// Where the fastest schedule of a task comes from.
enum class Winner : std::uint8_t {
  none,      ///< nothing runs yet
  usual,     ///< it is the default schedule
  transfer,  ///< the record base knew it
  searched
};
/// "", "default", "transfer", "searched": the words of events and --json.
const char* name_of(Winner);

/// The progress of one task. Its times are clock times. The times by which records rank are divided by the pace.
struct TaskProgress {
  std::string name;
  int id = 0;  ///< its number in the network
  int weight = 1;
  double flops = 0;                              ///< of one run
  double best_seconds = 0, default_seconds = 0;  ///< infinity where nothing runs yet
  Winner winner = Winner::none;
  std::int64_t trials = 0, failed = 0;     ///< of this and earlier runs
  std::int64_t reused = 0;                 ///< of earlier runs
  bool used_up = false;                    ///< no candidate is left
  std::string given_up;                    ///< the reason why the task was given up; "" where it was not
  bool rests = false;                      ///< more trials promise too little (`least_gain`, `early_stop`)
  std::int64_t stale = 0;                  ///< trials since the last better candidate
  std::int64_t measured = 0, allowed = 0;  ///< trials of this run; 0 allowed: no limit of its own
  std::int64_t quick = 0;                  ///< those of them in the quick round
  double seconds = 0;                      ///< of this run that were spent on it
  bool done = false;                       ///< it gets no more rounds
};

/// Where the time of a run went, in seconds of wall time; of all concurrent tasks together.
struct TunePhases {
  double propose = 0, measure = 0, check = 0, confirm = 0, record = 0, learn = 0;
  double finals = 0;                 ///< comparisons when the search has ended; `confirm` has those before
  double building = 0, running = 0;  ///< seconds of the builders' and of the runner's processes; part of `measure`
};

/// The quick round of a run.
struct QuickRound {
  std::int64_t tasks = 0;   ///< that were timed
  std::int64_t trials = 0;  ///< schedules that were not measured before
  double seconds = 0;
};

/// Sums of weight x latency over the same tasks: those that have a time by their default schedule and a best one.
struct ComparedSums {
  std::int64_t tasks = 0;
  double default_seconds = 0, best_seconds = 0;
};

/// The whole run, as progress shows it and the report sums it up.
struct TuneProgress {
  std::vector<TaskProgress> tasks;
  std::int64_t trials = 0, allowed_trials = 0;  ///< of this run; 0 allowed: no limit
  double seconds = 0, allowed_seconds = 0;      ///< the same; of the whole command where it has a limit (workflow)
  double to_come = 0;                           ///< seconds that is expected to come after the search
  int task = -1, next_task = -1;                ///< whose round just ended, whose comes next; -1: none
  double round_best_seconds = 0;                ///< the best of the round; infinity where nothing ran
  std::optional<QuickRound> quick;              ///< when it has ended; nothing where there was none
  bool interrupted = false;
  bool reached = false;       ///< the sums of all networks are what was asked at most (BudgetNetworks::until)
  double remaining_gain = 0;  ///< time that as many trials again may save in the network [s]
  /// The control schedule, one schedule that is measured now and then, against its first time: 1.2 is a machine that has become
  /// 20% slower; 0: not measured again yet.
  double slowdown = 0;
  /// Tasks with trials whose default and best schedules were not measured alternately at the end, because the time was used up:
  /// their gains compare times of different minutes.
  std::int64_t uncompared = 0;
  /// Where the processors lay, with what was before. Where they moved, schedules were chosen that are best over the time of each.
  PlacementTimes placements;
  TunePhases phases;
  int concurrent_tasks = 1;            ///< tasks that were tuned side by side: phases are the sum of all
  std::vector<FailureGroup> failures;  ///< of this run's trials

  /// Tasks whose fastest schedule comes from there.
  std::int64_t winners(Winner) const;
  /// Sum of weight x best over the tasks that have one [s].
  double network_seconds() const;
  /// The same with default schedules, over the tasks that have a time by these.
  double default_network_seconds() const;
  ComparedSums compared() const;
};

/// Proposes, measures, writes records (durably) and learns, until trials or time are used up, every space is exhausted
/// or the user interrupts. Resumes from the records of `file`; none of them is measured again. `on_round` gets the state
/// after every round. Errors: an unknown strategy; a record that cannot be written.
Result<TuneProgress> tune(const std::vector<Task>&, const Target&, Measurer&, RecordFile& file, const TuneOptions&,
                          const std::function<void(const TuneProgress&)>& on_round);

}  // namespace whet
