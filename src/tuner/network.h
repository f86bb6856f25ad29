#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "device/device.h"
#include "measure/measurer.h"
#include "passes/fuse.h"
#include "records/record_file.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"
#include "tuner/end_needs.h"

namespace whet {

struct NetworkOptions {
  OpenModelOptions open;                 ///< threads and cores that the model runs on
  std::vector<Tensor> inputs;            ///< one an input of the graph, in order
  bool exact = false;                    ///< only schedules whose numerics are exact
  Precision precision = Precision::f32;  ///< what products may round their operands to
  /// How a compile chooses schedules, with these records or, where they are null, with none. Empty: the best records, else the
  /// default schedules.
  std::function<ScheduleSource(const Records*)> choose;
  /// The graph of which a compile makes kernels where it has no records, by chains that it hopes for; null: the network's own.
  const FusedGraph* untuned = nullptr;
  int alternatives = 2;          ///< tasks whose two best candidates are tried in the network
  double burst_seconds = 0.1;    ///< of each of two models, alternately
  int bursts = 5;                ///< of each
  Measurer* measurer = nullptr;  ///< times the tasks alone; null: they are not
  /// The second of the clock by which all has ended; infinity: no limit. What would not end before it is left out: the tasks alone,
  /// then models of other schedules and repeated bursts. Where the shortest comparison does not fit, nothing is begun.
  double deadline = std::numeric_limits<double>::infinity();
  NetworkSize size;                                  ///< what that is judged by; only with a deadline
  std::function<double()> clock;                     ///< seconds, never backwards; empty: the machine's
  std::function<bool()> interrupted;                 ///< asked between compiles and bursts; may be empty
  std::function<void(int done, int all)> on_kernel;  ///< as CompileOptions has it
};

/// One way to compile the network.
struct TimedModel {
  double seconds = 0;              ///< of one inference
  double fastest_seconds = 0;      ///< the fastest of all inferences
  double predicted_seconds = 0;    ///< sum of weight x latency; 0 where it is not known
  std::int64_t weights_bytes = 0;  ///< of its library; 0: not known
};
/// Another model than the tuned one, timed alternately with it.
struct TimedRival {
  TimedModel own;
  double tuned_seconds = 0;                                    ///< of the tuned one meanwhile
  double most_gain = std::numeric_limits<double>::infinity();  ///< it cannot be faster by more [s]
};

/// Whether the device gave as many times as were asked for, each of them possible: devices are not trusted.
bool make_sense(const std::vector<ModelTimes>&, std::size_t models, int bursts);
/// True where the times are too far from the prediction, or from each other, to conclude anything: the machine was disturbed.
bool is_disturbed(const TimedModel&);
/// The rival that should replace the tuned model: it is faster by more than the error, and by no more than it can be; or as fast in a
/// smaller library (plan/tried.h). Nothing where there is none, or where the tuned model is disturbed.
std::optional<std::size_t> faster_than(const TimedModel& tuned, const std::vector<TimedRival>&);

/// Times of the whole compiled network, with which the sum of the tasks' times is compared.
struct NetworkTruth {
  std::string model;  ///< its name, of several that are tuned together; "": it is the only one
  /// Of one inference, as a compile without records makes the network: by default schedules, or by what a record base knows; 0: not
  /// measured.
  double untuned_seconds = 0;
  std::string base;            ///< the name of that base; "": there is none
  double default_seconds = 0;  ///< by default schedules; 0: not measured
  std::int64_t untuned_weights_bytes = 0;
  ProcessorPlacement placement;  ///< of the processors meanwhile
  TimedModel tuned;              ///< as it is compiled from the records from now on
  /// Sum of weight x latency of its tasks, each timed alone, alternately with the network; the fastest inference of the network
  /// in the same minutes. 0: not measured.
  double tasks_seconds = 0, beside_tasks_seconds = 0;
  bool disturbed = false;               ///< nothing was concluded
  bool disturbed_beside_tasks = false;  ///< the same of the times beside its tasks: nothing is laid on kernels
  bool same_schedules = false;          ///< untuned and tuned are one program: a difference is chance
  /// Seconds that the shortest comparison takes, where the deadline left less, so that nothing was measured; else 0.
  double needed_seconds = 0;
  double compile_seconds = 0;  ///< of the last compile
  bool unconfirmed = false;    ///< another model seemed faster, and the deadline left no time to confirm it
  struct Swap {
    std::string task;
    double seconds = 0;  ///< of the network with the task's second candidate instead of its first
    bool adopted = false;
  };
  std::vector<Swap> swaps;
  /// Tasks whose default schedule is the best from now on, or the one that a compile without records takes, because the network was
  /// faster with it: their gains were smaller than the error of a time that is measured alone.
  std::vector<std::string> back_to_default;
};

/// The network's last word in the placement at hand. Where the processors lie elsewhere than the tasks were compared in (`compared_in`),
/// `compare_again` comes first. Where they move while `settle` works, both are done once more; where that has no answer, as when no time
/// is left, the first one stays.
Result<NetworkTruth> settle_in_placement(const ProcessorPlacement& compared_in,
                                         const std::function<ProcessorPlacement()>& now,
                                         const std::function<Status()>& compare_again,
                                         const std::function<Result<NetworkTruth>()>& settle);

/// NetworkOptions::choose, or what it stands for.
ScheduleSource compiled_schedules(const NetworkOptions&, const Records*, const Target&);

/// Compiles the network with the best records and as it is without any, and times both alternately. For the heaviest
/// tasks whose second candidate is close, the network is compiled with that one as well: where it is faster there, the
/// record says so (`ranks_as`) and the candidate is the task's best from now on. In the same way the network is tried
/// with default schedules wherever tuning gained little, and with all of them: tuned is never slower than untuned, unless that is so by
/// chains, about which search_plans decides.
/// A model that takes the tuned one's place was faster in the one process in which all are timed, and then in new processes
/// (compare_models.h). The models run on the device; two of them are in memory at a time. With a deadline it does as much of this as fits.
Result<NetworkTruth> settle_in_network(const FusedGraph&, const Target&, RecordFile&, Device&, const NetworkOptions&);

}  // namespace whet
