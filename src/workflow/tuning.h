#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alternatives/alternatives.h"
#include "base/result.h"
#include "cost/limit.h"
#include "measure/device_measurer.h"
#include "passes/fuse.h"
#include "records/record_file.h"
#include "task/task.h"
#include "trial/ranged.h"
#include "tuner/footprint.h"
#include "tuner/ladder.h"
#include "tuner/network.h"
#include "tuner/plan_search.h"
#include "tuner/precision_search.h"
#include "tuner/tuner.h"
#include "workflow/base.h"
#include "workflow/measuring.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/samples.h"
#include "workflow/time_budget.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// A model among several that are tuned together.
struct ModelRuns {
  ModelOptions model;
  int runs = 1;  ///< how often it runs, to one run of the others
};
/// "a.onnx", or of several "a.onnx:3", which runs three times as often; what is a file of this name runs once.
ModelRuns parse_runs(const std::string& text);

/// The settings of a run of the tuner. `where` holds the interrupt callback and the sink for warnings.
struct TuneSettings {
  ModelOptions model;                    ///< of several the first
  std::vector<ModelRuns> together;       ///< all models that share tasks and time, two or more; empty: there is one
  Objective objective = Objective::sum;  ///< of several
  std::vector<std::string> until_ms;  ///< "4.0", of several "a.onnx=4.0": sums at which tuning them ends; empty: none
  TuningSizeOptions tuning_sizes;     ///< of a model with sizes
  MeasuringOptions where;
  std::string records;  ///< the file to append to
  int trials = 0, round = 32, early_stop = 0;
  int builders = 0;                             ///< 0: one a core
  TimeBudget time;                              ///< of the whole command
  double build_timeout = 15, least_gain = 0.5;  ///< [s], [% of the network's latency]
  int repeat = 0, number = 0;                   ///< repeat > 0: the classic way to measure
  double min_repeat_ms = 0;
  std::string strategy = "evolutionary", scheduler = "gradient", cache = "network";
  std::string templates;  ///< a file of the user's own (docs/formats/serve.md); "": none
  std::string only;       ///< numbers of the tasks to tune, "0,2-5"; "": all
  bool has_page = false;  ///< a listener writes one at the end, for which time is needed
  bool per_task = false, no_seeds = false, no_network = false, no_pin = false;
  RoundingOptions rounding;
  std::string samples;  ///< --precision auto or int8: the data on which answers are compared (workflow/samples.h)
  std::vector<std::string> max_error;  ///< and what they may err by (plan/accuracy.h); of int8 perhaps nothing
  std::string write_quantized;  ///< an ONNX file of the plan that was adopted (workflow/quantized_file.h); "": none
  BaseOptions base;
  /// What there is to choose from beside the usual kernels; empty: nothing.
  std::function<Result<AlternativeOptions>(const Target&)> alternatives;
};

/// What the options of measuring cannot be together.
Status check_repeat(const TuneSettings&, const std::string& command);
/// A model at one of the sizes at which it is tuned.
struct PreparedSize {
  TuningSize size;
  /// Numbers of its tasks, and how often an inference of this size runs each.
  std::vector<std::pair<std::size_t, int>> tasks;
};

/// A model, cut into tasks for the devices that measure them.
struct Prepared {
  TargetOnCores place;
  std::vector<DeviceName> devices;  ///< at least one
  bool emulated = false;            ///< its times mean nothing
  InputFiles files;
  FusedGraph fused;  ///< of several sizes the network at the largest
  std::vector<Task>
      tasks;  ///< of the whole network; of several sizes those of all, as often as all requests together run each
  std::vector<WantedSize> sizes;  ///< of a model that is tuned for several
  std::vector<PreparedSize> at;   ///< the same: ascending
  double read_seconds = 0;        ///< the same: of reading the model at one of them
  Footprint footprint;            ///< what an inference touches, of several sizes the largest
  std::vector<Task> chosen;       ///< those that are tuned
  std::vector<int> ids;           ///< their numbers
  std::string where;              ///< the remote devices; "" for this machine
  std::string name;               ///< of the model, for people: of several "a + 3 b"
  /// Several models, each with its tasks. Then the tasks above are those of all, each once, and `fused` is the model that touches most.
  std::vector<Prepared> networks = {};
  std::shared_ptr<const Samples> samples = nullptr;  ///< of --precision auto or int8
  Accuracy accuracy = {};
  std::vector<std::vector<double>> uses = {};  ///< how often one run of each of them runs each task: [task][network]
  /// What is known of other networks.
  std::shared_ptr<const RecordBase> base = std::make_shared<const RecordBase>();
};
bool is_remote(const Prepared&);
/// "cpu znver4, 2 threads (cores 0,1; big)", "cuda -arch=sm_80 -sms=108 on emulated: times are estimates"
std::string place_text(const Prepared&);

/// A prepared model, and the devices that measure its tasks.
struct Workplace {
  Prepared prepared;
  Devices devices;
  std::shared_ptr<FleetTally> tally;  ///< what the units of a fleet do; none without one
};
/// Reads the model and finds its devices. An error of the kind wrong_use: an option asks for what there is not.
Result<Workplace> make_workplace(const TuneSettings&, Zygote&);

/// The record file, with the records that count for these devices.
Result<RecordFile> open_records(const TuneSettings&, const Prepared&, const Devices&);
/// What is wrong or strange about it, a sentence each.
std::vector<std::string> record_notes(const Prepared&, const RecordFile&);

/// What became of a size: sums over its tasks that have both times, of one inference.
struct TunedSize {
  TuningSize size;
  ComparedSums sums;
};

/// What became of a run.
struct Tuned {
  TuneProgress progress;
  std::vector<std::string> size_names;     ///< of a model that was tuned for several sizes
  std::vector<TunedSize> sizes;            ///< those
  std::optional<LadderProgress> ladder;    ///< kernels for ranges; nothing where none was timed
  std::optional<NetworkAtSizes> at_sizes;  ///< the network at sizes of its ranges; nothing where it was not timed
  std::optional<RequestSeconds> requests;  ///< by these times; nothing where some are missing
  NetworkTruth truth;
  std::vector<NetworkTruth> truths;          ///< in place of `truth`, of several models
  std::optional<PlanSearch> plans;           ///< nothing where layouts were not searched
  std::optional<PrecisionSearch> precision;  ///< the same of a plan in fewer bits
  std::optional<Error> unwritten;            ///< why --write-quantized failed; all else is as it would be
  MachineRates rates;
  std::vector<std::vector<Limit>> limits;  ///< one list a task
  std::vector<UnitReport> units;           ///< the devices
  std::vector<std::string> left_out;       ///< phases that the time was too short for, a sentence each
  NetworkSize size;                        ///< what compiles and comparisons of the network take
  int builders = 0;                        ///< processes of this machine that built
  double stolen = 0;                       ///< part of the processors' time that other machines of the host had
};

/// Sees a run while it goes on; called by one thread at a time.
class TuneListener {
 public:
  virtual ~TuneListener() = default;
  virtual void started(const Prepared&, const RecordFile&, const MachineRates&) {}
  virtual void round(const TuneProgress&) {}
  /// The network is compiled for its last comparison: kernels made of all kernels.
  virtual void compiling(int /*done*/, int /*all*/) {}
  virtual void network(const NetworkTruth&) {}
  /// The model is read at the sizes of its ranges: now and then, and when it has been read.
  virtual void reading(std::int64_t /*read*/, std::int64_t /*all*/) {}
  /// Kernels for ranges of sizes: after each task, and at the end.
  virtual void ladder(const LadderProgress&) {}
  virtual void at_sizes(const NetworkAtSizes&) {}
  virtual void planning(const PlanProgress&) {}
  virtual void plans(const PlanSearch&) {}
  virtual void lowering(const PrecisionProgress&) {}
  virtual void precision(const PrecisionSearch&) {}
  virtual void finished(const Tuned&) {}
};
/// Several listeners as one.
class TuneListeners : public TuneListener {
 public:
  std::vector<TuneListener*> all;

  void started(const Prepared& prepared, const RecordFile& file, const MachineRates& rates) override {
    for (TuneListener* each : all) each->started(prepared, file, rates);
  }
  void round(const TuneProgress& progress) override {
    for (TuneListener* each : all) each->round(progress);
  }
  void compiling(int done, int kernels) override {
    for (TuneListener* each : all) each->compiling(done, kernels);
  }
  void network(const NetworkTruth& truth) override {
    for (TuneListener* each : all) each->network(truth);
  }
  void reading(std::int64_t read, std::int64_t sizes) override {
    for (TuneListener* each : all) each->reading(read, sizes);
  }
  void ladder(const LadderProgress& progress) override {
    for (TuneListener* each : all) each->ladder(progress);
  }
  void at_sizes(const NetworkAtSizes& times) override {
    for (TuneListener* each : all) each->at_sizes(times);
  }
  void planning(const PlanProgress& progress) override {
    for (TuneListener* each : all) each->planning(progress);
  }
  void plans(const PlanSearch& search) override {
    for (TuneListener* each : all) each->plans(search);
  }
  void lowering(const PrecisionProgress& progress) override {
    for (TuneListener* each : all) each->lowering(progress);
  }
  void precision(const PrecisionSearch& search) override {
    for (TuneListener* each : all) each->precision(search);
  }
  void finished(const Tuned& tuned) override {
    for (TuneListener* each : all) each->finished(tuned);
  }
};

/// Tunes and, unless interrupted or told not to, times the whole network and looks for a better plan of its layouts.
Result<Tuned> tune_model(const TuneSettings&, const Prepared&, Zygote&, const Devices&, RecordFile&, TuneListener&);

/// How candidates of a prepared model are measured.
MeasureOptions measure_options(const TuneSettings&, const Prepared&);
/// Of several devices, one decides: the one in the middle by the default schedule of a task, or the one that the user names.
Status calibrate(const TuneSettings&, const Prepared&, DeviceMeasurer&);

/// What the best schedules for each number of threads take on the others.
struct ThreadTable {
  std::vector<int> threads;
  /// [tuned for][run on], in the order of `threads`: the sum of the tasks' weight x latency [s]; infinity: unknown.
  std::vector<std::vector<double>> seconds;
};
/// About the seconds that compare_threads takes for a number of thread counts, after a run for one of them.
double thread_table_seconds(std::size_t counts, const Tuned&);
/// Times the best schedules for each number of threads on all of them.
///   runs  what was tuned, one a number of threads
Result<ThreadTable> compare_threads(TuneSettings, const std::vector<int>& counts, const std::vector<Prepared>& runs,
                                    Zygote&);

}  // namespace whet
