#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/measurer.h"
#include "passes/fuse.h"
#include "records/record_file.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

struct NetworkOptions {
  OpenModelOptions open;                             ///< threads and cores that the model runs on
  std::vector<Tensor> inputs;                        ///< one an input of the graph, in order
  bool exact = false;                                ///< only schedules whose numerics are exact
  Precision precision = Precision::f32;              ///< what products may round their operands to
  int alternatives = 2;                              ///< tasks whose two best candidates are tried in the network
  double burst_seconds = 0.1;                        ///< of each of two models, alternately
  int bursts = 5;                                    ///< of each
  Measurer* measurer = nullptr;                      ///< times the tasks alone; null: they are not
  std::function<bool()> interrupted;                 ///< asked between compiles and bursts; may be empty
  std::function<void(int done, int all)> on_kernel;  ///< as CompileOptions has it
};

/// One way to compile the network.
struct TimedModel {
  double seconds = 0;            ///< of one inference
  double fastest_seconds = 0;    ///< the fastest of all inferences
  double predicted_seconds = 0;  ///< sum of weight x latency; 0 where it is not known
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
/// The rival that should replace the tuned model: it is faster by more than the error, and by no more than it can be. Nothing where
/// there is none, or where the tuned model is disturbed.
std::optional<std::size_t> faster_than(const TimedModel& tuned, const std::vector<TimedRival>&);

/// Times of the whole compiled network, with which the sum of the tasks' times is compared.
struct NetworkTruth {
  double untuned_seconds = 0;  ///< of one inference; 0: not measured
  TimedModel tuned;            ///< as it is compiled from the records from now on
  /// Sum of weight x latency of its tasks, each timed alone, alternately with the network; the fastest inference of the network
  /// in the same minutes. 0: not measured.
  double tasks_seconds = 0, beside_tasks_seconds = 0;
  bool disturbed = false;               ///< nothing was concluded
  bool disturbed_beside_tasks = false;  ///< the same of the times beside its tasks: nothing is laid on kernels
  bool same_schedules = false;          ///< untuned and tuned are one program: a difference is chance
  struct Swap {
    std::string task;
    double seconds = 0;  ///< of the network with the task's second candidate instead of its first
    bool adopted = false;
  };
  std::vector<Swap> swaps;
  /// Tasks whose default schedule is the best from now on, because the network was faster with it: their gains were smaller
  /// than the error of a time that is measured alone.
  std::vector<std::string> back_to_default;
};

/// True where the records have no better schedule than the default one for any of these tasks: the tuned network is the
/// untuned one.
bool has_default_schedules(const std::vector<Task>&, const Records&, const Target&, const SpaceOptions&);

/// Compiles the network with the best records and with default schedules, and times both alternately. For the heaviest
/// tasks whose second candidate is close, the network is compiled with that one as well: where it is faster there, the
/// record says so (`ranks_as`) and the candidate is the task's best from now on. In the same way the network is tried
/// with default schedules wherever tuning gained little, and with all of them: tuned is never slower than untuned.
/// A model that takes the tuned one's place was faster in the one process in which all are timed, and then in new processes
/// (compare_models.h). The models run on the device; two of them are in memory at a time.
Result<NetworkTruth> settle_in_network(const FusedGraph&, const Target&, RecordFile&, Device&, const NetworkOptions&);

}  // namespace whet
