#pragma once

#include <string>
#include <vector>

#include "compiler/packing.h"
#include "tuner/network.h"

namespace whet {

/// Compiles the network by several schedules and times the models on the device, as long as time is left. One thread; the arguments
/// live longer.
class NetworkModels {
 public:
  struct Model {
    ModelLibrary file;
    TimedModel timed;
  };

  ///   folder  of the models; each has a name of its own there, since to the device a path names one content
  NetworkModels(const FusedGraph& fused, const Target& target, Device& device, const NetworkOptions& options,
                std::string folder)
      : fused_(fused),
        target_(target),
        device_(device),
        options_(options),
        size_(options.size),
        folder_(std::move(folder)) {}
  NetworkModels(const NetworkModels&) = delete;
  ~NetworkModels() { (void)device_.time_models({}, {}); }  // frees the models' memory

  Result<Model> compile(const ScheduleSource& source) { return compile(fused_, source, next_path()); }
  /// The network as another graph, under a new name.
  Result<Model> compile(const FusedGraph& fused, const ScheduleSource& source) {
    return compile(fused, source, next_path());
  }
  Result<Model> compile(const FusedGraph&, const ScheduleSource&, const std::string& path);

  /// Times models alternately and adds to what is known of each. Gives each one's best burst now: a model's time is the
  /// median of its best burst, because what disturbs a machine lasts longer than a burst.
  Result<std::vector<double>> time(const std::vector<Model*>&, const Bursts&);
  ModelRun run_of(const Bursts& bursts) const { return {options_.open, options_.inputs, bursts.seconds, bursts.count}; }
  /// What an inference takes, as far as it was seen.
  void expect(double inference_seconds) { size_.inference_seconds = inference_seconds; }

  Bursts usual_bursts() const { return {options_.bursts, options_.burst_seconds}; }
  /// Those of one comparison, or of `times`, that fit behind a compile.
  Bursts bursts_in_time(int least, int times = 1) const;
  bool fits(double seconds) const { return now() + seconds <= options_.deadline; }
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  double now() const;
  const NetworkSize& size() const { return size_; }  ///< with what the compiles and comparisons have shown

 private:
  std::string next_path() { return folder_ + "/" + std::to_string(compiled_++) + ".so"; }

  const FusedGraph& fused_;
  const Target& target_;
  Device& device_;
  const NetworkOptions& options_;
  NetworkSize size_;
  const std::string folder_;
  int compiled_ = 0;
  PackedConstants packed_;
};

}  // namespace whet
