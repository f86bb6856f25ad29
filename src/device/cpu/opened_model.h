#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "base/message.h"
#include "base/result.h"
#include "device/cpu/inference_trace.h"
#include "device/cpu/run_times.h"
#include "device/device_name.h"
#include "tensor/tensor.h"
#include "whet/model.h"

namespace whet {

/// How a compiled model is to be opened. Zero and empty are the defaults.
struct OpenModelOptions {
  std::uint32_t threads = 0;         ///< 0: as many as it was tuned for, where there are as many cores
  std::vector<std::uint32_t> cores;  ///< where the threads run; empty: chosen
  bool pin = true;
  bool map_weights = false;
  std::string weights_file;        ///< of a library that has none; "": it has them
  DeviceName device;               ///< of a model for a GPU
  std::uint32_t device_flags = 0;  ///< WHET_DEVICE_..., of a model for a GPU
  bool times_alone = false;        ///< on the emulated device no kernel runs, and time passes by the estimate
};

/// As they travel to another process of the same program.
extern template struct Codec<OpenModelOptions>;

/// A compiled model as the tools use it: its library, a pool and one session, behind Results and Tensors; in this process, or on a
/// device elsewhere (device/remote/cpu/remote_model.h).
class OpenedModel {
 public:
  /// Checks the file, loads it, and makes pool and session, in this process.
  static Result<OpenedModel> open(const std::string& path, const OpenModelOptions& = {});

  struct Named {
    std::string name;
    TensorType type;
  };
  /// Inputs and outputs at some sizes.
  struct Tensors {
    std::vector<Named> inputs, outputs;
  };
  /// The implementation. The functions are those of OpenedModel; inputs that are set have the model's number and types.
  class Body {
   public:
    virtual ~Body() = default;
    virtual const whet_model_info& info() const = 0;
    virtual const whet_pool_info& pool() const = 0;
    virtual const whet_device_info* device() const { return nullptr; }
    virtual bool is_emulated() const { return false; }
    virtual bool is_elsewhere() const { return false; }
    virtual std::string note() const = 0;
    virtual std::vector<ModelSize> sizes() const { return {}; }
    virtual Result<Tensors> set_shapes(const std::vector<std::optional<Shape>>&);
    virtual Status set_inputs(std::vector<Tensor>) = 0;
    virtual Status run() = 0;
    virtual Status move_to_device(const OpenedModel&);
    virtual Status run_back_to_back(int runs);
    virtual Result<std::vector<Tensor>> read_outputs(const std::vector<Named>&) const = 0;
    virtual double clock() const;
    virtual Status warm_up(double seconds);
    virtual Result<std::vector<double>> time_runs(int runs, double seconds);
    virtual Status profile_runs(int warmup, int runs) = 0;
    virtual whet_profile profile() const = 0;
    virtual UsualRun usual_run() const { return mean_run(profile()); }
    virtual Result<InferenceTrace> trace_runs(int, int) { return InferenceTrace(); }
  };
  OpenedModel(std::vector<Named> inputs, std::vector<Named> outputs, std::shared_ptr<Body> body)
      : body_(std::move(body)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  const std::vector<Named>& inputs() const { return inputs_; }
  const std::vector<Named>& outputs() const { return outputs_; }
  const whet_model_info& info() const { return body_->info(); }
  const whet_pool_info& pool() const { return body_->pool(); }
  /// Null for a model that runs on the CPU.
  const whet_device_info* device() const { return body_->device(); }
  bool is_emulated() const { return body_->is_emulated(); }
  /// Whether it runs on another machine: its cores are not this one's.
  bool is_elsewhere() const { return body_->is_elsewhere(); }
  /// How its threads agree with what it was tuned for; "" where they do.
  std::string note() const { return body_->note(); }

  /// Sizes that its shapes may have; none where it is for one size, and on a device elsewhere, where it runs at the usual ones.
  std::vector<ModelSize> sizes() const { return body_->sizes(); }
  /// Inputs and outputs have these shapes from now on: one an input, nothing and extents of -1 where it follows from others.
  /// Inputs are zeros until they are set again.
  Status set_shapes(const std::vector<std::optional<Shape>>&);
  /// The same by the values of the sizes.
  Status set_sizes(const std::vector<std::int64_t>&);

  /// One tensor an input, in order; they are kept until set again. Errors name the input.
  Status set_inputs(std::vector<Tensor>);
  /// One inference on the inputs that are set: what a benchmark times.
  Status run() { return body_->run(); }
  /// From now on the inputs that are set, and the outputs, are in the memory of the model's GPU: a run copies nothing from or to
  /// the host, and its outputs are not read. For models of a GPU alone.
  Status move_to_device() { return body_->move_to_device(*this); }
  /// `runs` inferences, one behind the other with no wait between them, and the wait for the last.
  Status run_back_to_back(int runs) { return body_->run_back_to_back(runs); }
  /// Copies of the outputs of the last run.
  Result<std::vector<Tensor>> read_outputs() const { return body_->read_outputs(outputs_); }
  /// All three.
  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs);

  /// What its runs are timed by [s]: a steady clock, of the emulated device its own.
  double clock() const { return body_->clock(); }
  /// Inferences for this long, and at least one. (Elsewhere they come with the next `time_runs`.)
  Status warm_up(double seconds) { return body_->warm_up(seconds); }
  /// Seconds of inferences, one after the other: of `runs`, or where that is 0 for `seconds`, and of 3 at least.
  Result<std::vector<double>> time_runs(int runs, double seconds) { return body_->time_runs(runs, seconds); }

  /// Times the steps of `runs` inferences, after `warmup` others.
  Status profile_runs(int warmup, int runs) { return body_->profile_runs(warmup, runs); }
  /// Of these; valid until the next call.
  whet_profile profile() const { return body_->profile(); }
  /// The usual one of these (run_times.h); a device elsewhere tells means alone.
  UsualRun usual_run() const { return body_->usual_run(); }
  /// The fastest of `runs` inferences, after `warmup` others: when each worker was at work on each step. It has no stretches for
  /// a model that runs on a GPU or elsewhere.
  Result<InferenceTrace> trace_runs(int warmup, int runs) { return body_->trace_runs(warmup, runs); }

 private:
  std::shared_ptr<Body> body_;
  std::vector<Named> inputs_, outputs_;
};

}  // namespace whet
