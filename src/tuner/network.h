#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/opened_model.h"
#include "passes/fuse.h"
#include "records/record_file.h"
#include "target/target.h"

namespace whet {

struct NetworkOptions {
  OpenModelOptions open;              ///< threads and cores that the model runs on
  std::vector<Tensor> inputs;         ///< one an input of the graph, in order
  bool exact = false;                 ///< only schedules that are `is_exact`
  int alternatives = 2;               ///< tasks whose two best candidates are tried in the network
  double burst_seconds = 0.1;         ///< of each model, in turn
  int bursts = 6;                     ///< of each model
  std::function<bool()> interrupted;  ///< asked between compiles and bursts; may be empty
};

/// The whole network, compiled and timed: what the sum of the tasks' times is held against.
struct NetworkTruth {
  double untuned_seconds = 0, tuned_seconds = 0;  ///< of one inference, measured in turn; 0: not measured
  /// Sum of weight x latency; 0 where a task has no figure. Latencies of tasks are the fastest of their runs, so it is
  /// held against the fastest inference.
  double predicted_seconds = 0, fastest_seconds = 0;
  bool disturbed = false;  ///< the times are too far from the prediction or from each other: nothing was concluded
  struct Swap {
    std::string task;
    double seconds = 0;  ///< of the network with the task's second candidate instead of its first
    bool adopted = false;
  };
  std::vector<Swap> swaps;
  /// Tasks whose default schedule is the best from now on, because the network was faster so: their gains were within
  /// what a figure taken alone errs by.
  std::vector<std::string> back_to_default;
};

/// Compiles the network with default schedules and with the best records, and times both in turn. For the heaviest
/// tasks whose second candidate is close, the network is compiled with that one as well: where it is faster there, the
/// record says so (`ranks_as`) and the candidate is the task's best from now on. In the same way the network is tried
/// with default schedules wherever tuning gained little, and with all of them: tuned is never slower than untuned.
Result<NetworkTruth> settle_in_network(const FusedGraph&, const Target&, RecordFile&, const NetworkOptions&);

}  // namespace whet
